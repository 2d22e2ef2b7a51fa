"""What the test sets have in common: focus words in context, and a gold key."""

import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

from polylm.errors import UserError
from polylm.evaluation.datasets import how_to_get
from polylm.evaluation.keys import Key
from polylm.reading.targets import Target


@dataclass(frozen=True)
class Instance:
    """A focus word, `text[start:end]`, and the lemma and part of speech that the data set gives it: n, v, j, r."""

    id: str
    lemma: str
    pos: str
    text: str
    start: int
    end: int

    @property
    def target(self) -> str:
        """What key files call the lemma: bank.n"""
        return f"{self.lemma}.{self.pos}"

    def as_target(self) -> Target:
        """What is to be read."""
        return Target(self.text, self.start, self.end, self.lemma, self.pos, self.id)


@dataclass(frozen=True)
class WSIDataset:
    """Instances to be told apart by sense, and how they are scored: `task` names the measures and the answers."""

    name: str
    task: str  # semeval2010, semeval2013, semcor-wsi or own
    instances: list[Instance]
    gold: Key


def parse_xml(path: Path) -> ElementTree.Element:
    """The root of an XML file, or a sentence that says which file is broken."""
    try:
        return ElementTree.parse(path).getroot()
    except (ElementTree.ParseError, LookupError, ValueError) as error:  # the last two for encodings
        raise UserError(f"{path} is not well-formed XML: {error}") from None


def read_lines(path: Path) -> list[str]:
    """The lines of a text file; only a line feed ends one."""
    try:
        return path.read_bytes().decode("utf-8-sig").removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        number = error.object[: error.start].count(b"\n") + 1
        raise UserError(f"{path}, line {number}: this is not UTF-8 text") from None


def check_any(instances: list[Instance], path: Path, dataset: str) -> None:
    """A data set has instances."""
    if not instances:
        raise UserError(f"{path} holds no instances. {how_to_get(dataset)}")


def joined(before: str, focus: str, after: str) -> tuple[str, int, int]:
    """Text around a focus as one text, with single spaces between the parts that had any; and where the focus is."""
    left = before.lstrip()
    left = left.rstrip() + (" " if left != left.rstrip() else "")
    right = after if after[:1].strip() else " " + after.lstrip()
    text = (left + focus + right).rstrip()
    return text, len(left), len(left) + len(focus)


def offset_instance(element: ElementTree.Element, path: Path) -> Instance:
    """An `<instance>` with the offsets of its focus, as SemEval-2013 has it in one of its flavours."""
    text = element.text or ""
    try:
        name, lemma, pos = (element.attrib[field] for field in ("id", "lemma", "partOfSpeech"))
        start, end = int(element.attrib["tokenStart"]), int(element.attrib["tokenEnd"])
    except (KeyError, ValueError) as error:
        raise UserError(f"{path}: an instance lacks its id, lemma or offsets ({error})") from None
    if not text[start:end].strip():
        raise UserError(f"{path}: {name} has no word at its offsets {start} to {end}")
    return Instance(name, lemma, pos, text, start, end)


def find_folder(folder: str | Path, dataset: str, *, has: str) -> Path:
    """A folder of data; where it is not there, or not what it should be, the sentence says how to get it."""
    path = Path(folder)
    if not path.is_dir():
        raise UserError(f"there is no folder {path}. {how_to_get(dataset)}")
    if not (path / has).exists():
        raise UserError(f"{path} does not hold the data set: it has no {has}. {how_to_get(dataset)}")
    return path
