"""The symbols that every vocabulary begins with, and their ids. Needs nothing, so anything may use it."""

SPECIAL = ("[PAD]", "[UNK]", "[MASK]", "[LINE]")
PAD, UNKNOWN, MASK, LINE = range(len(SPECIAL))
