"""CoNLL-U: words that are tokens already. What is read is written again as it was, with senses in the last column."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from polylm.errors import UserError

COLUMNS = 10


@dataclass(frozen=True)
class Sentence:
    """The lines of a sentence, comments and all; `places` says which lines are words."""

    lines: list[str]
    places: list[int]

    @property
    def words(self) -> list[str]:
        """The forms, without spaces. A range of words (3-4) and an empty node (5.1) are none."""
        return ["_".join(self.lines[place].split("\t")[1].split()) or "_" for place in self.places]


def sentences(lines: Iterable[str], name: str = "the input") -> Iterator[Sentence]:
    """The sentences of a file, which empty lines part; `name` is what a complaint calls it."""
    now: list[str] = []
    places: list[int] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            if now:
                yield Sentence(now, places)
            now, places = [], []
            continue
        if not line.startswith("#"):
            fields = line.split("\t")
            if len(fields) != COLUMNS:
                raise UserError(f"{name}, line {number}: not CoNLL-U, {len(fields)} of {COLUMNS} fields")
            if not fields[0] or not fields[1]:
                raise UserError(f"{name}, line {number}: not CoNLL-U, no number or no word")
            if fields[0].isdigit():
                places.append(len(now))
        now.append(line)
    if now:
        yield Sentence(now, places)


def with_senses(sentence: Sentence, senses: Sequence[tuple[str | None, float | None]]) -> str:
    """The sentence as text, `Sense=bank#3|SenseProb=0.93` added to MISC where a word has a sense."""
    lines = list(sentence.lines)
    for place, (sense, probability) in zip(sentence.places, senses, strict=True):
        *fields, misc = lines[place].split("\t")
        parts = [part for part in misc.split("|") if part != "_" and not part.startswith(("Sense=", "SenseProb="))]
        if sense is not None and probability is not None:
            parts += [f"Sense={sense.replace('|', '%7C')}", f"SenseProb={probability:.2f}"]
        lines[place] = "\t".join([*fields, "|".join(parts) or "_"])
    return "\n".join(lines) + "\n\n"
