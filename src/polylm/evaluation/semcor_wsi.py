"""SemCor-WSI: sense induction where most words have one sense, as in running text (Mosolova, Candito, Ramisch 2025).

The other sets have chosen words of many meanings, and reward systems that split. Here lemmas are drawn by lot, those of
one sense included, each occurrence stands in its sentence alone, and the score is the mean over lemmas of B-cubed F.
One cluster a lemma is hard to beat.

The authors' files are read as they are (`test_all.csv`, or their older names). From SemCor itself a set of the same
kind is drawn: nouns, verbs and adjectives with two occurrences or more, in an order that depends on their spelling
alone, until each part of speech has 5,000 occurrences; the next 5,000 are for development. Lemmas that no longer fit
are passed over.
"""

import csv
import hashlib
import io
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal, get_args

from polylm.errors import UserError
from polylm.evaluation import semcor
from polylm.evaluation.instances import Instance, WSIDataset, read_lines

OCCURRENCES = 5_000  # of a part of speech
Part = Literal["test", "dev"]

_POS = {"NN": "n", "VB": "v", "JJ": "j"}
_COLUMNS = ("sentence", "lemma", "lexsn", "pos", "position")
_POSITION = re.compile(r"\((\d+), (\d+)\)")


def read(path: str | Path, part: Part = "test") -> WSIDataset:
    """The authors' files in a folder, one of them, or SemCor to draw from."""
    path = Path(path)
    if part not in get_args(Part):
        raise UserError(f"there is no part {part!r}: choose from {', '.join(get_args(Part))}")
    if not path.exists():
        raise UserError(f"there is no {path}: name the folder of SemCor-WSI, or SemCor itself")
    table = path if path.suffix == ".csv" else _table_in(path, part)
    rows = drawn(path, part) if table is None else _rows(table)
    instances: list[Instance] = []
    gold: dict[str, dict[str, dict[str, float]]] = defaultdict(dict)
    for number, (lemma, pos, text, start, end, sense) in enumerate(rows, 1):
        instance = Instance(f"{lemma}.{pos}.{number}", lemma, pos, text, start, end)
        instances.append(instance)
        gold[instance.target][instance.id] = {sense: 1.0}
    if not instances:
        raise UserError(f"{table or path} holds no occurrences")
    return WSIDataset("semcor-wsi", "semcor-wsi", instances, dict(gold))


Row = tuple[str, str, str, int, int, str]  # lemma, part of speech, sentence, where, sense


def _table_in(path: Path, part: Part) -> Path | None:
    """All parts of speech in one file: test_all.csv, or semcorwsi_dataset_all_test.csv."""
    if not path.is_dir() or not any(path.glob("*.csv")):
        return None
    names = (f"{part}_all.csv", f"semcorwsi_dataset_all_{part}.csv")
    found = next((path / name for name in names if (path / name).is_file()), None)
    if found is None:
        raise UserError(f"{path} has no {names[0]}")
    return found


def _rows(path: Path) -> Iterable[Row]:
    table = csv.DictReader(io.StringIO("\n".join(read_lines(path)), newline=""))
    missing = [name for name in _COLUMNS if name not in (table.fieldnames or [])]
    if missing:
        raise UserError(f"{path} is no file of SemCor-WSI: it has no column {missing[0]!r}")
    try:
        for row in table:
            yield _row(row, f"{path}, line {table.line_num}")
    except csv.Error as error:
        raise UserError(f"{path}, line {table.line_num}: {error}") from None


def _row(row: Mapping[str, str | None], where: str) -> Row:
    text, lemma, sense = (row[name] or "" for name in ("sentence", "lemma", "lexsn"))
    place, pos = _POSITION.fullmatch(row["position"] or ""), _POS.get(row["pos"] or "")
    if place is None or pos is None:
        raise UserError(f"{where}: pos should be NN, VB or JJ, and position a pair of numbers")
    start, end = int(place[1]), int(place[2])
    text = text.replace("_", " ")
    if end > len(text) or not text[start:end].strip():
        raise UserError(f"{where}: there is no word at {row['position']}")
    if not lemma.strip() or not sense.strip():
        raise UserError(f"{where}: lemma and lexsn should not be empty")
    return lemma.strip().lower(), pos, text, start, end, sense.strip()


def drawn(path: Path, part: Part) -> list[Row]:
    """Occurrences of lemmas drawn by lot from SemCor."""
    by_lemma: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for _, sentences in semcor.documents(path):
        for sentence in sentences:
            text = " ".join(word.form.replace("_", " ") for word in sentence)
            start = 0
            for form, sense in sentence:
                if sense is not None and sense.pos in "nvj":
                    row = (sense.lemma, sense.pos, text, start, start + len(form), sense.key)
                    by_lemma[sense.lemma, sense.pos].append(row)
                start += len(form) + 1
    order = sorted((key for key, rows in by_lemma.items() if len(rows) > 1), key=_lot)
    chosen: list[Row] = []
    for pos in "nvj":
        rest = [key for key in order if key[1] == pos]
        first = _fill(rest, by_lemma)
        if part == "dev":
            taken = set(first)
            first = _fill([key for key in rest if key not in taken], by_lemma)
        chosen += [row for key in first for row in by_lemma[key]]
    return chosen


def _fill(keys: list[tuple[str, str]], by_lemma: dict[tuple[str, str], list[Row]]) -> list[tuple[str, str]]:
    chosen, n = [], 0
    for key in keys:
        if n + len(by_lemma[key]) <= OCCURRENCES:
            chosen.append(key)
            n += len(by_lemma[key])
    return chosen


def _lot(key: tuple[str, str]) -> bytes:
    return hashlib.sha256(".".join(key).encode()).digest()
