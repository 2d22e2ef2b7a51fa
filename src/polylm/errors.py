"""The one error that is meant for people."""


class UserError(ValueError):
    """Something the caller can mend: the message is one sentence that says what is wrong and what to do."""
