"""`polylm eval`: one data set, one model, one result that can be shown, written and saved, whatever the task."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polylm.atomic import write_bytes
from polylm.errors import UserError
from polylm.evaluation import own, report, semeval2010, semeval2013, wic, wsd, wsi
from polylm.evaluation.encoding import Report
from polylm.evaluation.keys import write_key
from polylm.wordnet import sense_keys

if TYPE_CHECKING:
    from polylm.device import Device
    from polylm.evaluation.systems import PolyLMSystem
    from polylm.model.polylm import PolyLM
    from polylm.model.readout import Source


@dataclass(frozen=True)
class Result:
    """What was measured: for people, for programs, and as a key file."""

    table: report.Table
    values: dict[str, Any]
    note: str
    write_key: Callable[[Path], None]

    def to_dict(self) -> dict[str, Any]:
        return self.values


Task = Callable[["PolyLMSystem", str], Result]


def reader(dataset: str, data: Path, *, semcor: Path | None = None, wordnet: Path | None = None) -> Task:
    """Read a data set; what is returned evaluates a system on it."""
    if dataset != "wsd" and (semcor is not None or wordnet is not None):
        raise UserError("--semcor and --wordnet are for wsd alone")
    if dataset == "wic":
        pairs = wic.read_pairs(data)
        return lambda system, _: _wic(pairs, system)
    if dataset == "wsd":
        framework = wsd.read_framework(data)
        known = sense_keys(wordnet or wsd.find_beside(data, "wordnet"))
        tagged = wsd.read_semcor(semcor or wsd.find_beside(data, "semcor"))
        return lambda system, _: _wsd(framework, tagged, known, system)
    readers = {
        "semeval2010": semeval2010.read,
        "semeval2013": semeval2013.read,
        "semeval2013-trial": semeval2013.read_trial,
        "jsonl": own.read_to_score,
    }
    if dataset not in readers:
        raise UserError(f"there is no data set {dataset!r}")
    instances = readers[dataset](data)
    return lambda system, name: _wsi(wsi.evaluate(instances, system), name)


def evaluate(
    task: Task,
    model: Path | None,
    *,
    source: "Source" = "both",
    weight: float = 0.6,
    granularity: float | None = None,
    device: "Device" = "auto",
    report: Report | None = None,
    reading: Report | None = None,
) -> Result:
    """Load a model and evaluate it. Of JSON, `source`, `weight`, `granularity` and `model` say how."""
    from polylm.evaluation.systems import PolyLMSystem
    from polylm.explore.model import load

    loaded = load(model, device=device, granularity=granularity)
    if loaded.network.c_d is None:
        if source == "disambiguation":
            raise UserError("this model has no disambiguation layer: use --source prediction")
        source = "prediction"
    system = PolyLMSystem(loaded, source=source, weight=weight, report=report, reading=reading)
    how = f"{source}, granularity {system.granularity:g}" + (f", weight {weight:g}" if source == "both" else "")
    result = task(system, f"this model ({how})")
    settings = {"source": source, "granularity": system.granularity, "model": str(model or "")}
    if source == "both":
        settings["weight"] = weight
    return Result(result.table, {**result.values, **settings}, result.note, result.write_key)


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
    published = report.published(evaluation.dataset.name) if evaluation.dataset.task != "own" else {}
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
    result = wic.evaluate(pairs, system, report=system.report)

    def refuse(_: Path) -> None:
        raise UserError("WiC has no key files")

    return Result(report.wic_table(result), result.to_dict(), "", refuse)


def _wsd(
    framework: dict[str, wsd.Labelled],
    semcor: wsd.Labelled,
    wordnet: dict[tuple[str, str], list[str]],
    system: "PolyLMSystem",
) -> Result:
    result = wsd.evaluate(framework, semcor, wordnet, system, report=system.report)
    lines = "".join(f"{name} {sense}\n" for name, sense in result.key.items())
    return Result(report.wsd_table(result), result.to_dict(), "", lambda path: write_bytes(path, lines.encode()))


def in_training(path: Path, data: Path) -> "Callable[[int], Callable[[PolyLM], dict[str, float]]]":
    """Scores of a model in training on a file of own data: what training shows of evaluation is handed to it."""
    from polylm.corpus.vocabulary import Vocabulary
    from polylm.evaluation.packed import Packed
    from polylm.text.pipeline import TextPipeline, TextSettings

    dataset = own.read_to_score(path)
    settings = TextSettings.load(data / "text.json")
    pipeline = TextPipeline(Vocabulary.load(data / "vocabulary.tsv"), settings)

    def of_length(length: int) -> "Callable[[PolyLM], dict[str, float]]":
        packed = Packed.make(dataset, pipeline, length)

        def evaluate(model: "PolyLM") -> dict[str, float]:
            return {f"eval_{name}": value for name, value in packed.evaluate(model).scores.totals.items()}

        return evaluate

    return of_length
