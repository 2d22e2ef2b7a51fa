"""WiC: is a word used in the same sense in two sentences?

The authors' two features of a pair: the cosine of y^P at the masked focus, and the dot product of the two distributions
over senses. A threshold on either, and logistic regression on both, are learned on the training pairs; and the same
with y^P half whitened, so that no few directions decide (LOG.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polylm.errors import UserError
from polylm.evaluation.instances import Instance, find_folder, read_lines

if TYPE_CHECKING:
    from polylm.evaluation.systems import PolyLMSystem

SPLITS = ("train", "dev", "test")
_POS = {"N": "n", "V": "v"}


@dataclass(frozen=True)
class Pairs:
    """One split: the two sentences of a pair follow one another."""

    instances: list[Instance]  # (2 n)
    same: NDArray[np.bool_]  # (n,)


@dataclass(frozen=True)
class WiCResult:
    """Accuracies, by what decides and by split."""

    accuracy: dict[str, dict[str, float]]
    unknown: dict[str, int]  # pairs whose word is not in the vocabulary, by split
    sizes: dict[str, int]

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"dataset": "wic", "accuracy": self.accuracy, "unknown": self.unknown, "pairs": self.sizes}


def read_pairs(folder: str | Path) -> dict[str, Pairs]:
    """The three splits; one without gold labels is left out."""
    root = find_folder(folder, "wic", has="train/train.data.txt")
    return {split: _split(root, split) for split in SPLITS if (root / split / f"{split}.gold.txt").exists()}


def evaluate(pairs: dict[str, Pairs], system: "PolyLMSystem") -> WiCResult:
    """Learn on train, report everywhere."""
    if "train" not in pairs:
        raise UserError("WiC needs its training pairs with their labels: train/train.gold.txt is missing")
    instances = [instance for split in pairs.values() for instance in split.instances]
    windows = system.encode(instances)
    q, y = system.read(windows, output=True)
    assert y is not None
    q = system.merged(q, windows)
    first, second = slice(0, None, 2), slice(1, None, 2)
    sizes = {name: len(split.same) for name, split in pairs.items()}
    ends = np.cumsum(list(sizes.values()))
    of = {name: slice(int(end) - sizes[name], int(end)) for name, end in zip(pairs, ends, strict=True)}
    of_train = slice(2 * of["train"].start, 2 * of["train"].stop)
    y = y / np.maximum(np.linalg.norm(y, axis=1, keepdims=True), 1e-12)
    even = half_whitened(y, y[of_train])
    columns = (
        (y[first] * y[second]).sum(axis=1),
        (q[first] * q[second]).sum(axis=1),
        _cosine(even[first], even[second]),
    )
    features = np.stack(columns, axis=1).astype(np.float64)  # (pairs, 3)
    train, same = features[of["train"]], pairs["train"].same
    rules = {
        "cosine of y^P, threshold": _threshold_rule(train, same, 0),
        "dot of q, threshold": _threshold_rule(train, same, 1),
        "both, logistic regression": _logistic_rule(train, same, (0, 1)),
        "cosine of y^P half whitened, threshold": _threshold_rule(train, same, 2),
        "it and dot of q, logistic regression": _logistic_rule(train, same, (1, 2)),
    }
    accuracy = {
        rule: {name: float(np.mean((features[of[name]] @ weights > bias) == pairs[name].same)) for name in pairs}
        for rule, (weights, bias) in rules.items()
    }
    accuracy["always the same"] = {name: float(split.same.mean()) for name, split in pairs.items()}
    unknown = {name: int((~windows.known[first][of[name]]).sum()) for name in pairs}
    return WiCResult(accuracy, unknown, sizes)


def half_whitened(vectors: NDArray[Any], sample: NDArray[Any]) -> NDArray[np.float64]:
    """Vectors (n, d) less the mean of a sample, each of its main directions divided by the root of its deviation."""
    mean = sample.mean(axis=0, dtype=np.float64)
    variances, directions = np.linalg.eigh(np.cov(sample.T.astype(np.float64)))
    floor = max(variances[-1], 1e-12) * 1e-9
    even: NDArray[np.float64] = (vectors - mean) @ (directions * np.maximum(variances, floor) ** -0.25)
    return even


def _cosine(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    norms = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    cosines: NDArray[Any] = (a * b).sum(axis=1) / np.maximum(norms, 1e-12)
    return cosines


def _threshold_rule(features: NDArray[np.float64], same: NDArray[np.bool_], column: int) -> tuple[Any, float]:
    return np.eye(features.shape[1])[column], best_threshold(features[:, column], same)


def best_threshold(values: NDArray[np.float64], same: NDArray[np.bool_]) -> float:
    """The value above which saying "same" is right most often; between two values, the lowest of equals."""
    order = np.argsort(values, kind="stable")
    ranked, labels = values[order], same[order]
    right = np.concatenate(
        ([labels.sum()], labels.sum() + np.cumsum(np.where(labels, -1, 1)))
    )  # cut before, after each
    cuts = np.concatenate(([-np.inf], (ranked[1:] + ranked[:-1]) / 2, [np.inf]))
    possible = np.concatenate(([True], ranked[1:] > ranked[:-1], [True]))  # equal values cannot be cut apart
    return float(cuts[np.argmax(np.where(possible, right, -1))])


def _logistic_rule(
    features: NDArray[np.float64], same: NDArray[np.bool_], columns: tuple[int, ...]
) -> tuple[Any, float]:
    """Logistic regression on some columns, with the usual penalty of half the squared weights."""
    import torch

    chosen = list(columns)
    x, labels = torch.from_numpy(features[:, chosen]), torch.from_numpy(same.astype(np.float64))
    weights = torch.zeros(len(chosen), dtype=torch.float64, requires_grad=True)
    bias = torch.zeros((), dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS(
        [weights, bias], max_iter=500, line_search_fn="strong_wolfe", tolerance_grad=1e-9, tolerance_change=1e-15
    )

    def loss() -> Any:
        optimizer.zero_grad()
        value = torch.nn.functional.binary_cross_entropy_with_logits(x @ weights + bias, labels, reduction="sum")
        value = value + (weights**2).sum() / 2
        value.backward()  # type: ignore[no-untyped-call]
        return value

    optimizer.step(loss)  # type: ignore[no-untyped-call]
    of_all = np.zeros(features.shape[1])
    of_all[chosen] = weights.detach().numpy()
    return of_all, -bias.item()


def _split(root: Path, split: str) -> Pairs:
    data = root / split / f"{split}.data.txt"
    gold = root / split / f"{split}.gold.txt"
    rows, labels = read_lines(data), read_lines(gold)
    if rows == [""]:
        raise UserError(f"{data} is empty")
    if len(rows) != len(labels):
        raise UserError(f"{gold} has {len(labels)} lines and {data} {len(rows)}: they do not belong together")
    instances: list[Instance] = []
    for number, row in enumerate(rows, 1):
        instances += _pair(row, f"{split}.{number}", f"{data}, line {number}")
    for number, label in enumerate(labels, 1):
        if label.strip() not in ("T", "F"):
            raise UserError(f"{gold}, line {number}: {label!r} is neither T nor F")
    return Pairs(instances, np.array([label.strip() == "T" for label in labels]))


def _pair(row: str, name: str, where: str) -> Sequence[Instance]:
    fields = row.split("\t")
    try:
        lemma, pos, indices, *sentences = fields
        places = [int(index) for index in indices.split("-")]
        if len(sentences) != 2 or len(places) != 2:
            raise ValueError
        spans = [_span(sentence, place) for sentence, place in zip(sentences, places, strict=True)]
    except (ValueError, IndexError):
        raise UserError(f"{where}: this is not a word, its class, two places and two sentences with them") from None
    return [
        Instance(f"{name}.{number}", lemma.lower(), _POS.get(pos, pos.lower()), sentence, *span)
        for number, (sentence, span) in enumerate(zip(sentences, spans, strict=True), 1)
    ]


def _span(sentence: str, place: int) -> tuple[int, int]:
    """Where the word with this number is."""
    start = 0
    words = sentence.split(" ")
    if place < 0:
        raise IndexError
    for word in words[:place]:
        start += len(word) + 1
    return start, start + len(words[place])
