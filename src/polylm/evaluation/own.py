"""Anybody's own data: a file of JSON objects, one a line, each a focus word in its context with its sense.

`{"left": "He sat on the ", "focus": "bank", "right": " of the river.", "lemma": "bank", "pos": "n", "sense": "shore"}`,
and an `id` if you like. `pos` is n, v, j or r (noun, verb, adjective, adverb). Plain or compressed.
"""

import json
import re
from pathlib import Path
from typing import Any

from polylm.corpus.sources import find_sources
from polylm.errors import UserError
from polylm.evaluation.instances import Instance, WSIDataset
from polylm.text.lemmatizer import lemmas_of
from polylm.text.tokenizer import normalize

FIELDS = ("left", "focus", "right", "lemma", "pos", "sense")
_PARTS = re.compile(r"[\s_-]+")
_NAMES = {"n": "noun nn", "v": "verb vb", "j": "a s adj adjective jj", "r": "adv adverb rb"}
_POS = {name: pos for pos, names in _NAMES.items() for name in (pos, *names.split())}


def read(path: str | Path) -> WSIDataset:
    """The instances of a file, and their senses as gold."""
    path = Path(path)
    if not path.is_file():
        what = "is not a file" if path.exists() else "is not there"
        raise UserError(f"{path} {what}: name a file with a JSON object a line ({', '.join(FIELDS)})")
    data = find_sources([path])[0].read()
    try:
        lines = data.decode("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise UserError(
            f"{path}, line {data[: error.start].count(10) + 1}: this is not UTF-8: convert it first"
        ) from None
    instances: list[Instance] = []
    gold: dict[str, dict[str, dict[str, float]]] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        instance, sense = _instance(line, where, len(instances) + 1)
        senses = gold.setdefault(instance.target, {})
        if instance.id in senses:
            raise UserError(f"{where}: the id {instance.id!r} was there before")
        senses[instance.id] = {sense: 1.0}
        instances.append(instance)
    if not instances:
        raise UserError(f"{path} is empty: it has no JSON object")
    return WSIDataset(path.name.split(".")[0], "own", instances, gold)


def read_to_score(path: str | Path) -> WSIDataset:
    """The same, if there is something to tell apart: a lemma of several sentences."""
    dataset = read(path)
    if all(len(senses) == 1 for senses in dataset.gold.values()):
        raise UserError(f"{path}: every lemma has one sentence, so there is nothing to tell apart")
    return dataset


def _lemmas(word: str) -> set[str]:
    return {word, *(lemma for pos in "nvjr" for lemma in lemmas_of(word, pos))}


def odd_focuses(dataset: WSIDataset) -> list[str]:
    """Instances no word of whose focus can have their lemma, which they are given all the same: `id: focus`."""
    odd = []
    for instance in dataset.instances:
        focus = normalize(instance.text[instance.start : instance.end]).lower()
        lemmas = [_lemmas(word) for word in _PARTS.split(focus)]
        wanted = _PARTS.split(instance.lemma)
        starts = range(len(lemmas) - len(wanted) + 1)  # the lemma may have several words, the focus more
        if not any(all(part in lemmas[i + n] for n, part in enumerate(wanted)) for i in starts):
            odd.append(f"{instance.id} ({focus})")
    return odd


def _instance(line: str, where: str, number: int) -> tuple[Instance, str]:
    try:
        row: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{where}: this is not JSON: {error}") from None
    if not isinstance(row, dict):
        raise UserError(f"{where}: this is not a JSON object")
    missing = [field for field in FIELDS if not isinstance(row.get(field), str)]
    if isinstance(row.get("sense"), int) and missing == ["sense"]:
        missing = []
    if missing:
        raise UserError(f"{where}: {' and '.join(missing)} should be there, as text")
    if not row["focus"].strip() or not row["lemma"].strip() or not str(row["sense"]).strip():
        raise UserError(f"{where}: focus, lemma and sense must not be empty")
    left, focus = row["left"], row["focus"].strip()
    lead = len(row["focus"]) - len(row["focus"].lstrip())
    start = len(left) + lead
    lemma = "_".join(normalize(word).lower() for word in row["lemma"].split())
    pos = _POS.get(row["pos"].strip().lower())
    if pos is None:
        raise UserError(f"{where}: pos is {row['pos']!r}: it should be n, v, j or r (noun, verb, adjective, adverb)")
    name = f"{lemma}.{pos}.{number}" if row.get("id") is None else str(row["id"])
    if not f"{lemma}{pos}{name}".isprintable():
        raise UserError(f"{where}: the lemma, class or id holds characters that cannot be written")
    if not name or len(name.split()) != 1:
        raise UserError(f"{where}: the id {name!r} should be one word: key files are cut at spaces")
    text = left + row["focus"] + row["right"]
    touching = [text[place - 1 : place + 1] for place in (start, start + len(focus)) if 0 < place < len(text)]
    if any(pair.isascii() and pair.isalnum() for pair in touching):
        raise UserError(f"{where}: the focus {focus!r} is a part of a word: left and right have the spaces of the text")
    return Instance(name, lemma, pos, text, start, start + len(focus)), str(row["sense"]).strip()
