"""Results for people: a table with the baselines and the paper's rows beside ours, or Markdown."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from polylm.evaluation.wsi import Evaluation, Scores

if TYPE_CHECKING:
    from polylm.evaluation.wic import WiCResult
    from polylm.evaluation.wsd import WSDResult

TITLES = {
    "paired_fscore": "F-S",
    "v_measure": "V-M",
    "fuzzy_bcubed": "FBC",
    "fuzzy_nmi": "FNMI",
    "avg": "AVG",
    "bcubed": "B-cubed",
    "adjusted_rand": "ARI",
}
PARTS_OF_SPEECH = {"n": "nouns", "v": "verbs", "j": "adjectives", "a": "adjectives", "r": "adverbs"}

# Table 2 of the paper, and the authors' later LARGE model from their repository, in percent: system -> scores.
PUBLISHED: dict[str, dict[str, tuple[float, float, float]]] = {
    "semeval2010": {
        "PolyLM LARGE (the authors, later)": (67.5, 43.6, 54.3),
        "PolyLM BASE": (65.8, 40.5, 51.6),
        "PolyLM SMALL": (65.6, 35.7, 48.4),
        "Amrami and Goldberg 2019, BERT LARGE": (71.3, 40.4, 53.6),
        "AutoSense (Amplayo et al. 2019)": (62.9, 10.1, 25.2),
        "SE-WSI-fix-cmp (Song et al. 2016)": (54.3, 16.3, 29.8),
        "AdaGram (Bartunov et al. 2016)": (43.9, 20.0, 29.6),
        "Arora et al. 2018, k = 5": (46.4, 11.5, 23.1),
    },
    "semeval2013": {
        "PolyLM LARGE (the authors, later)": (66.7, 23.7, 39.7),
        "PolyLM BASE": (64.8, 23.0, 38.6),
        "PolyLM SMALL": (64.5, 18.5, 34.5),
        "Amrami and Goldberg 2019, BERT LARGE": (64.0, 21.4, 37.0),
        "AutoSense (Amplayo et al. 2019)": (61.7, 8.0, 22.2),
        "Qiu et al. 2016": (56.9, 6.7, 19.5),
        "AdaGram (Bartunov et al. 2016)": (13.2, 8.9, 10.8),
    },
}


@dataclass(frozen=True)
class Table:
    """Rows of text under columns; all but the first column are numbers."""

    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]

    def to_markdown(self) -> str:
        """As Markdown has tables."""
        lines = [self.columns, ("---", *("---:" for _ in self.columns[1:])), *self.rows]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def score_table(scores: Scores) -> Table:
    """One key: all lemmas, then each part of speech."""
    names = list(scores.totals)
    rows = [("all", *_percent(scores.totals, names), str(len(scores.per_lemma)))]
    for pos, values in scores.per_pos.items():
        n = sum(lemma.rpartition(".")[2] == pos for lemma in scores.per_lemma)
        rows.append((PARTS_OF_SPEECH.get(pos, pos), *_percent(values, names), str(n)))
    return Table(("", *(TITLES[name] for name in names), "lemmas"), rows)


def evaluation_table(evaluation: Evaluation, name: str) -> Table:
    """Ours, by part of speech too; the baselines; what was published."""
    names = list(evaluation.scores.totals)
    rows = [(name, *_percent(evaluation.scores.totals, names))]
    for pos, values in evaluation.scores.per_pos.items():
        if len(evaluation.scores.per_pos) > 1:
            rows.append((f"  {PARTS_OF_SPEECH.get(pos, pos)}", *_percent(values, names)))
    rows += [(other, *_percent(scores.totals, names)) for other, scores in evaluation.baselines.items()]
    if evaluation.dataset.task != "own":  # whatever the file is called
        for system, percents in PUBLISHED.get(evaluation.dataset.name, {}).items():
            rows.append((system, *(f"{value:.1f}" for value in percents)))
    return Table((evaluation.dataset.name, *(TITLES[name] for name in names)), rows)


def published(dataset: str) -> dict[str, dict[str, float]]:
    """The published rows as fractions under the names of the measures."""
    names = {"semeval2010": ("paired_fscore", "v_measure", "avg"), "semeval2013": ("fuzzy_bcubed", "fuzzy_nmi", "avg")}
    return {
        system: {name: round(value / 100, 4) for name, value in zip(names[dataset], values, strict=True)}
        for system, values in PUBLISHED.get(dataset, {}).items()
    }


def wic_table(result: "WiCResult") -> Table:
    """Accuracy by what decides and by split."""
    splits = list(result.sizes)
    rows = [(rule, *_percent(values, splits)) for rule, values in result.accuracy.items()]
    rows.append(("pairs", *(str(result.sizes[split]) for split in splits)))
    rows.append(("of them, word not known", *(str(result.unknown[split]) for split in splits)))
    return Table(("wic, accuracy", *splits), rows)


def wsd_table(result: "WSDResult") -> Table:
    """F1 by data set, beside the most frequent sense."""
    names = list(result.f1)
    rows = [
        ("mapped through SemCor", *_percent(result.f1, names)),
        ("most frequent sense", *_percent(result.mfs, names)),
        ("instances", *(str(result.sizes[name]) for name in names)),
        ("of them, by the model", *(str(result.mapped[name]) for name in names)),
    ]
    return Table(("wsd, F1", *names), rows)


def _percent(values: Mapping[str, float], names: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"{round(100 * values[name], 2) + 0.0:.2f}" for name in names)  # never -0.00
