"""The symbols that every vocabulary begins with, and their ids. Needs nothing, so anything may use it."""

PAD, UNKNOWN, MASK, LINE = SPECIAL = ("[PAD]", "[UNK]", "[MASK]", "[LINE]")
PAD_ID, UNKNOWN_ID, MASK_ID, LINE_ID = range(len(SPECIAL))
