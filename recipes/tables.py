"""The paper's tables for models of ours: SemEval-2010 and 2013, by read-out, beside the published rows; as Markdown.

    python recipes/tables.py 2 DATA base=bundled small=run/s0,run/s1,run/s2   # Table 2; bundled: the package's own
    python recipes/tables.py 3 DATA run/ablations                             # Table 3, trained by ablations.sh

DATA holds semeval2010, semeval2013 and wsi-dev.jsonl.xz. Each model is read once. The last row of each is merged at the
granularity that the model was saved with, or, where that is 1, at the one that is best on wsi-dev. Several models after
one name are seeds: their mean, and their standard deviation after ±.
"""

import argparse
import json
import statistics
from pathlib import Path

import numpy as np

import polylm
from polylm.evaluation import own, semeval2010, semeval2013
from polylm.evaluation.instances import WSIDataset
from polylm.evaluation.report import PUBLISHED
from polylm.evaluation.systems import PolyLMSystem
from polylm.evaluation.wsi import judge

DEVELOPMENT = "wsi-dev.jsonl.xz"
TASKS = {"semeval2010": semeval2010.read, "semeval2013": semeval2013.read, DEVELOPMENT: own.read}
MEASURES = {"semeval2010": ("paired_fscore", "v_measure", "avg"), "semeval2013": ("fuzzy_bcubed", "fuzzy_nmi", "avg")}
GRANULARITIES = [round(one, 2) for one in np.arange(0.16, 0.6, 0.02)]
ABLATIONS = {  # PolyLM SMALL in the paper's Table 3
    "PolyLM SMALL": (65.6, 35.7, 48.4, 64.5, 18.5, 34.5),
    "PolyLM SMALL, no distinctness": (53.5, 33.4, 42.3, 57.4, 16.3, 30.5),
    "PolyLM SMALL, no disambiguation": (64.9, 25.5, 40.6, 64.5, 17.5, 33.6),
    "PolyLM SMALL, disambiguation layer only": (63.6, 29.3, 43.2, 62.7, 15.7, 31.4),
}


class Scored:
    """A model on the sets: what each layer says of every instance."""

    def __init__(self, folder: Path, data: dict[str, WSIDataset]) -> None:
        self.model = polylm.load(None if str(folder) == "bundled" else folder)
        self.data = data
        self.reads_unmasked = self.model.network.config.reads_unmasked
        self.system = PolyLMSystem(self.model)
        self.windows, self.q = {}, {}
        for name, dataset in data.items():
            self.windows[name] = self.system.encode(dataset.instances)
            p = self.model.reader.read(self.windows[name], polylm.ReadOut("prediction")).q
            if self.model.network.c_d is None:  # all read-outs are one
                self.q[name] = {"prediction": p, "disambiguation": p, "both": p}
                continue
            d = self.model.reader.read(self.windows[name], polylm.ReadOut("disambiguation")).q
            both = p**0.6 * d**0.4  # as `both` is defined, without reading a third time
            both /= np.maximum(both.sum(axis=1, keepdims=True), 1e-30)
            self.q[name] = {"prediction": p, "disambiguation": d, "both": both}
            if self.reads_unmasked:
                self.q[name]["reading"] = self.model.reader.read(self.windows[name], polylm.ReadOut("reading")).q
        self.granularity = self.model.granularity if self.model.granularity < 1 else self._best()

    def _totals(self, name: str, read_out: str, granularity: float) -> dict[str, float]:
        q, instances = self.q[name][read_out], self.data[name].instances
        probs = self.system.labelled(q, self.windows[name], instances, granularity)
        return judge(self.data[name], probs, baselines=False).scores.totals

    def _best(self) -> float:
        return max(GRANULARITIES, key=lambda granularity: self._totals(DEVELOPMENT, "both", granularity)["avg"])

    def row(self, read_out: str, granularity: float = 1.0) -> list[float]:
        """F-S, V-M, AVG, FBC, FNMI, AVG in percent."""
        totals = {name: self._totals(name, read_out, granularity) for name in MEASURES}
        return [100 * totals[name][measure] for name, measures in MEASURES.items() for measure in measures]


def cells(rows: list[list[float]]) -> list[str]:
    """The mean of seeds."""
    return [
        f"{statistics.mean(values):.1f}" + (f" ± {statistics.stdev(values):.1f}" if len(values) > 1 else "")
        for values in zip(*rows, strict=True)
    ]


def rows_of(name: str, seeds: list[Scored]) -> list[list[str]]:
    rows = [[f"{name}, q^P", *cells([seed.row("prediction") for seed in seeds])]]
    if seeds[0].model.network.c_d is not None:
        rows.append([f"{name}, both read-outs", *cells([seed.row("both") for seed in seeds])])
    chosen = ", ".join(f"{granularity:g}" for granularity in sorted({seed.granularity for seed in seeds}))
    rows.append([f"{name}, merged at {chosen}", *cells([seed.row("both", seed.granularity) for seed in seeds])])
    if seeds[0].reads_unmasked:
        for read_out, title in (("disambiguation", "q^D"), ("reading", "reading in one pass")):
            merged = [seed.row(read_out, seed.granularity) for seed in seeds]
            rows.append([f"{name}, {title}, merged at {chosen}", *cells(merged)])
    return rows


def table2(models: list[str], data: dict[str, WSIDataset]) -> list[list[str]]:
    rows = []
    for named in models:
        name, _, folders = named.rpartition("=")
        rows += rows_of(name or Path(folders).name, [Scored(Path(folder), data) for folder in folders.split(",")])
    for system in {**PUBLISHED["semeval2010"], **PUBLISHED["semeval2013"]}:
        scores = [PUBLISHED[task].get(system) for task in MEASURES]
        rows.append([system, *(f"{v:.1f}" if own else "" for own in scores for v in own or (0, 0, 0))])
    return rows


def table3(models: list[str], data: dict[str, WSIDataset]) -> list[list[str]]:
    rows = []
    for name in ("full", "no-distinctness", "no-disambiguation"):
        scored = Scored(Path(models[0]) / name, data)
        rows += rows_of(name.replace("-", " "), [scored])
        if name == "full":
            rows.append(["disambiguation layer only", *cells([scored.row("disambiguation")])])
    return rows + [[name, *map(str, scores)] for name, scores in ABLATIONS.items()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table", choices=["2", "3"])
    parser.add_argument("data", type=Path, help="holds semeval2010, semeval2013 and wsi-dev.jsonl.xz")
    parser.add_argument("models", nargs="+", help="folders, or name=folder,folder; for Table 3 the ablations' folder")
    parser.add_argument("--json", type=Path, help="write the rows here too")
    options = parser.parse_args()
    data = {name: reader(options.data / name) for name, reader in TASKS.items()}
    rows = (table2 if options.table == "2" else table3)(options.models, data)
    print("| | F-S | V-M | AVG 2010 | FBC | FNMI | AVG 2013 |\n|---|---:|---:|---:|---:|---:|---:|")
    for row in rows:
        print(f"| {' | '.join(row)} |")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
