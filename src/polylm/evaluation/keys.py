"""Key files: which senses a system, or the gold standard, gives to each instance.

A line is `lemma instance label[/weight] label[/weight] …`, as in every Senseval and SemEval task; without a weight it
is 1. In memory a key is `{lemma: {instance: {label: weight}}}`, in the order of the file.
"""

import gzip
import math
import zlib
from collections.abc import Mapping
from pathlib import Path

from polylm.atomic import write_bytes
from polylm.errors import UserError

Labels = Mapping[str, float]
Key = Mapping[str, Mapping[str, Labels]]


def read_key(path: str | Path) -> dict[str, dict[str, dict[str, float]]]:
    """Read a key file, plain or .gz. A line that cannot be understood is named by its number."""
    data = _read(Path(path))
    key: dict[str, dict[str, dict[str, float]]] = {}
    line_of: dict[tuple[str, str], int] = {}
    for number, raw in enumerate(data.splitlines(), 1):
        where = f"{path}, line {number}"
        try:
            fields = raw.decode("utf-8-sig" if number == 1 else "utf-8").split()
        except UnicodeDecodeError:
            raise UserError(f"{where}: this is not UTF-8 text") from None
        if not fields:
            continue
        if len(fields) < 3:
            raise UserError(f"{where}: {' '.join(fields)!r} is not a lemma, an instance and at least one label")
        lemma, instance = fields[:2]
        labels = _labels(fields[2:], where)
        before = key.setdefault(lemma, {}).setdefault(instance, labels)
        first = line_of.setdefault((lemma, instance), number)
        if before != labels:
            raise UserError(f"{where}: {instance} of {lemma} was answered otherwise on line {first}")
    if not key:
        raise UserError(f"{path} is empty: a key has a line for each instance")
    return key


def write_key(path: str | Path, key: Key, *, weights: bool = True) -> None:
    """Write a key as the official scorers read it; without `weights`, one label an instance."""
    lines = []
    for lemma, instances in key.items():
        for instance, labels in instances.items():
            odd = next((name for name in (lemma, instance, *labels) if not name or name.split() != [name]), None)
            if odd is not None:
                raise UserError(f"{odd!r} cannot stand in a key: its fields are divided by white space")
            if weights:
                answers = [f"{label}/{_written(weight)}" for label, weight in labels.items()]
            else:  # a label with a slash needs a weight, or what follows the slash would pass for it
                answers = [f"{label}/1" if "/" in label else label for label in list(labels)[:1]]
            lines.append(" ".join((lemma, instance, *answers)))
    write_bytes(Path(path), "".join(f"{line}\n" for line in lines).encode())


def _written(weight: float) -> str:
    """Four digits after the point; what they would make 0 keeps its own."""
    return f"{weight:.4f}" if weight >= 5e-5 or not weight else f"{weight:.4g}"


def _read(path: Path) -> bytes:
    try:
        data = path.read_bytes()
        return gzip.decompress(data) if path.suffix == ".gz" else data
    except IsADirectoryError:
        raise UserError(f"{path} is a folder: name the key file in it") from None
    except FileNotFoundError:
        raise UserError(f"there is no file {path}") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise UserError(f"{path} is damaged: {error}") from None


def _labels(fields: list[str], where: str) -> dict[str, float]:
    labels: dict[str, float] = {}  # a label that is there twice has its last weight
    for field in fields:
        name, slash, number = field.rpartition("/")
        label, weight = (name, _weight(number)) if slash else (field, 1.0)
        if not label:
            raise UserError(f"{where}: {field!r} has no label before its weight")
        if weight is None:
            raise UserError(f"{where}: the weight in {field!r} is not a number from 0 up")
        labels[label] = weight
    if not max(labels.values()) > 0:
        raise UserError(f"{where}: every weight is 0")
    return labels


def _weight(text: str) -> float | None:
    try:
        weight = float(text)
    except ValueError:
        return None
    return weight if math.isfinite(weight) and weight >= 0 and "_" not in text else None


def coverage(key: Key, gold: Key) -> str:
    """What a key leaves out, and what it has beyond the gold; nothing if it has just the instances of the gold."""
    given, wanted = ({(lemma, one) for lemma, own in side.items() for one in own} for side in (key, gold))
    if given == wanted:
        return ""
    n, others = len(wanted & given), len(given - wanted)
    return f"{n:,} of {len(wanted):,} gold instances are answered; {others:,} answers are not in the gold"
