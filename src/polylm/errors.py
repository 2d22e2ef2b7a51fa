"""The errors that are meant for people."""

from collections.abc import Callable


class UserError(ValueError):
    """Something the caller can mend: one sentence that says what is wrong and what to do.

    A parameter that the sentence names stands in it as `{name}` and is given by keyword with the value to use, or None.
    Python reads `name='value'`, the command line `--name value`.
    """

    def __init__(self, message: str, **parameters: object) -> None:
        self.message, self.parameters = message, parameters
        super().__init__(self._filled(lambda name, value: name if value is None else f"{name}={value!r}"))

    def __reduce__(self) -> tuple[object, ...]:
        return _again, (type(self), self.message, self.parameters)

    def as_flags(self) -> str:
        """The sentence as the command line says it."""

        def flag(name: str, value: object) -> str:
            return f"--{name.replace('_', '-')}" + ("" if value is None or value is True else f" {value}")

        return self._filled(flag)

    def _filled(self, shown: Callable[[str, object], str]) -> str:
        text = self.message
        for name, value in self.parameters.items():
            text = text.replace(f"{{{name}}}", shown(name, value))
        return text


class UnknownKeyError(UserError, KeyError):
    """A word or a sense that is not there, where Python expects a KeyError."""

    def __str__(self) -> str:
        return str(self.args[0])


def _again(kind: type[UserError], message: str, parameters: dict[str, object]) -> UserError:
    return kind(message, **parameters)
