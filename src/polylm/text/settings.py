"""What decides how text is read; saved as `text.json` beside everything made from text."""

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from polylm.errors import UserError

TEXT = "text.json"
TAGGERS = ("english", "spacy")


@dataclass(frozen=True)
class TextSettings:
    """`tagger_sha256` names the very weights of the tagger; it is filled in when they are loaded."""

    lemmatize: bool = True
    tagger: str = "english"
    tagger_sha256: str | None = None

    def __post_init__(self) -> None:
        if self.tagger not in TAGGERS:
            raise UserError(f"there is no tagger called {self.tagger!r}; choose from {', '.join(TAGGERS)}")

    def to_bytes(self) -> bytes:
        """The content of `text.json`."""
        return (json.dumps(asdict(self), indent=2) + "\n").encode()

    @classmethod
    def load(cls, path: str | Path) -> "TextSettings":
        """Read a `text.json`."""
        try:
            values = json.loads(Path(path).read_text(encoding="utf-8"))
            known = {field.name for field in fields(cls)}
            if not isinstance(values, dict) or set(values) - known:
                raise ValueError("it holds other settings than this version of polylm knows")
            kinds = {"lemmatize": bool, "tagger": str, "tagger_sha256": str | None}
            wrong = [name for name, value in values.items() if not isinstance(value, kinds[name])]
            if wrong:
                raise ValueError(f"its {wrong[0]} is {values[wrong[0]]!r}")
            return cls(**values)
        except (OSError, ValueError, TypeError) as error:
            raise UserError(f"{path} could not be read as text settings: {error}") from None
