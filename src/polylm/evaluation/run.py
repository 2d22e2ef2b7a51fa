"""One data set, one model, one result that can be shown, written and saved, whatever the task."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polylm.atomic import write_bytes
from polylm.errors import UserError
from polylm.evaluation import own, report, semcor_wsi, semeval2010, semeval2013, wic, wsd, wsi
from polylm.evaluation.instances import WSIDataset
from polylm.evaluation.keys import write_key
from polylm.wordnet import sense_keys

if TYPE_CHECKING:
    from polylm.evaluation.systems import PolyLMSystem
    from polylm.model.polylm import PolyLM

READERS: dict[str, Callable[[Path], WSIDataset]] = {
    "semeval2010": semeval2010.read,
    "semeval2013": semeval2013.read,
    "semeval2013-trial": semeval2013.read_trial,
    "semcor-wsi": semcor_wsi.read,
    "jsonl": own.read_to_score,
}


@dataclass(frozen=True)
class Result:
    """What was measured: for people, for programs, and as a key file."""

    table: report.Table
    values: dict[str, Any]
    note: str
    write_key: Callable[[Path], None]

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return self.values


Task = Callable[["PolyLMSystem"], Result]


@dataclass(frozen=True)
class Request:
    """Which data set, and where it and what it needs are."""

    dataset: str
    data: Path
    semcor: Path | None = None  # for wsd; by default looked for beside the data
    wordnet: Path | None = None

    def __post_init__(self) -> None:
        if self.dataset not in (*READERS, "wic", "wsd"):
            raise UserError(f"there is no data set {self.dataset!r}: choose from {', '.join((*READERS, 'wic', 'wsd'))}")
        if self.dataset != "wsd" and (self.semcor is not None or self.wordnet is not None):
            raise UserError("{semcor} and {wordnet} are for wsd alone", semcor=None, wordnet=None)

    @property
    def has_key(self) -> bool:
        """Whether answers can be written as a key file."""
        return self.dataset != "wic"

    def read(self) -> Task:
        """Read the data set; what is returned evaluates a system on it."""
        if self.dataset == "wic":
            pairs = wic.read_pairs(self.data)
            return lambda system: _wic(pairs, system)
        if self.dataset == "wsd":
            framework = wsd.read_framework(self.data)
            known = sense_keys(self.wordnet or wsd.find_beside(self.data, "wordnet"))
            tagged = wsd.read_semcor(self.semcor or wsd.find_beside(self.data, "semcor"))
            return lambda system: _wsd(framework, tagged, known, system)
        instances = READERS[self.dataset](self.data)
        return lambda system: _wsi(wsi.evaluate(instances, system), f"this model ({_how(system)})")


def evaluate(task: Task, system: "PolyLMSystem", model: str = "") -> Result:
    """Evaluate a system. Of JSON, `read_out`, `weight`, `granularity` and `model` say how."""
    result, read_out = task(system), system.read_out
    settings = {"read_out": read_out.layers, "granularity": system.granularity, "model": model}
    if read_out.layers == "both":
        settings["weight"] = read_out.weight
    return replace(result, values={**result.values, **settings})


def _how(system: "PolyLMSystem") -> str:
    weight = f", weight {system.read_out.weight:g}" if system.read_out.layers == "both" else ""
    return f"{system.read_out.layers}, granularity {system.granularity:g}{weight}"


def _wsi(evaluation: wsi.Evaluation, name: str) -> Result:
    graded = evaluation.dataset.task == "semeval2013"
    notes = []
    if evaluation.unknown:
        notes.append(f"not in the vocabulary, answered with one sense: {_some(evaluation.unknown)}")
    if evaluation.dataset.task == "own":
        single = [lemma for lemma, instances in evaluation.dataset.gold.items() if len(instances) == 1]
        if single:
            notes.append(f"not counted, since they have one sentence: {_some(single)}")
        odd = own.odd_focuses(evaluation.dataset)
        if odd:
            notes.append(f"read as the lemma, though the focus is not a form of it: {_some(odd)}")
    note = "\n".join(notes)
    published = report.published(evaluation.dataset.name) if evaluation.dataset.task.startswith("semeval") else {}
    values = {**evaluation.to_dict(), "published": published}
    return Result(
        report.evaluation_table(evaluation, name),
        values,
        note,
        lambda path: write_key(path, evaluation.key, weights=graded),
    )


def _some(names: list[str]) -> str:
    return ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")


def _wic(pairs: dict[str, wic.Pairs], system: "PolyLMSystem") -> Result:
    result = wic.evaluate(pairs, system)

    def refuse(_: Path) -> None:
        raise UserError("WiC has no key files")

    return Result(report.wic_table(result), result.to_dict(), "", refuse)


def _wsd(
    framework: dict[str, wsd.Labelled],
    tagged: wsd.Labelled,
    wordnet: dict[tuple[str, str], list[str]],
    system: "PolyLMSystem",
) -> Result:
    result = wsd.evaluate(framework, tagged, wordnet, system)
    lines = "".join(f"{name} {sense}\n" for name, sense in result.key.items())
    return Result(report.wsd_table(result), result.to_dict(), "", lambda path: write_bytes(path, lines.encode()))


def scores_in_training(path: Path, corpus: Path) -> "Callable[[int], Callable[[PolyLM], dict[str, float]]]":
    """Scores of a model in training on a file of own data: what training shows of evaluation is handed to it."""
    from polylm.corpus.shards import PreparedCorpus
    from polylm.evaluation.packed import Packed
    from polylm.text.pipeline import TextPipeline

    dataset, prepared = own.read_to_score(path), PreparedCorpus(corpus, verify=False)
    pipeline = TextPipeline(prepared.vocabulary(), prepared.text_settings())

    def of_length(length: int) -> "Callable[[PolyLM], dict[str, float]]":
        packed = Packed.make(dataset, pipeline, length)

        def evaluate(model: "PolyLM") -> dict[str, float]:
            return {f"eval_{name}": value for name, value in packed.evaluate(model).scores.totals.items()}

        return evaluate

    return of_length
