"""The paper's tables for models of ours: SemEval-2010 and 2013, by read-out, beside the published rows; as Markdown.

    python recipes/tables.py 2 DATA base=bundled small=runs/small        # Table 2; bundled: the package's own
    python recipes/tables.py 3 DATA runs/ablations                       # Table 3: what recipes/ablations.sh trained

DATA holds semeval2010 and semeval2013. Granularities are made of distributions that are read once.
"""

import argparse
import json
from pathlib import Path

import numpy as np

import polylm
from polylm.evaluation import semeval2010, semeval2013
from polylm.evaluation.encoding import encode, read
from polylm.evaluation.report import PUBLISHED
from polylm.evaluation.systems import labelled, merged
from polylm.evaluation.wsi import judge
from polylm.model.readout import Source

TASKS = {"semeval2010": semeval2010.read, "semeval2013": semeval2013.read}
MEASURES = {"semeval2010": ("paired_fscore", "v_measure", "avg"), "semeval2013": ("fuzzy_bcubed", "fuzzy_nmi", "avg")}


class Scored:
    """A model on both sets: what each layer says of every instance."""

    def __init__(self, folder: Path, data: Path) -> None:
        self.model = polylm.load(None if str(folder) == "bundled" else folder)
        self.datasets = {name: reader(data / name) for name, reader in TASKS.items()}
        self.encoded, self.q = {}, {}
        network = self.model.network
        for name, dataset in self.datasets.items():
            self.encoded[name] = encode(dataset.instances, self.model.pipeline, network.config.max_length)
            sources: tuple[Source, ...] = ("prediction",) if network.c_d is None else ("prediction", "disambiguation")
            q = {source: read(network, self.encoded[name], source=source)[0] for source in sources}
            if network.c_d is not None:  # as `both` is defined, without reading a third time
                product = q["prediction"] ** 0.6 * q["disambiguation"] ** 0.4
                q["both"] = product / np.maximum(product.sum(axis=1, keepdims=True), 1e-30)
            self.q[name] = q

    def row(self, source: str, granularity: float = 1.0) -> list[str]:
        """F-S, V-M, AVG, FBC, FNMI, AVG in percent."""
        row = []
        for name, dataset in self.datasets.items():
            found = self.q[name].get(source, self.q[name]["prediction"])  # without C^D both are one
            found = merged(found, self.encoded[name], self.model.merging, granularity)
            probs = labelled(found, self.encoded[name], self.model.network.inventory, dataset.instances)
            totals = judge(dataset, probs, baselines=False).scores.totals
            row += [f"{100 * totals[measure]:.1f}" for measure in MEASURES[name]]
        return row


def show(rows: list[list[str]]) -> None:
    print("| | F-S | V-M | AVG 2010 | FBC | FNMI | AVG 2013 |\n|---|---:|---:|---:|---:|---:|---:|")
    for row in rows:
        print(f"| {' | '.join(row)} |")


def table2(options: argparse.Namespace) -> list[list[str]]:
    rows = []
    for named in options.models:
        name, _, folder = named.rpartition("=")
        scored = Scored(Path(folder), options.data)
        name = name or Path(folder).name
        rows.append([f"{name}, q^P", *scored.row("prediction")])
        rows.append([f"{name}, both read-outs", *scored.row("both")])
        dial = scored.model.granularity
        if dial < 1:
            rows.append([f"{name}, both, granularity {dial:g}", *scored.row("both", dial)])
    for system in {**PUBLISHED["semeval2010"], **PUBLISHED["semeval2013"]}:
        cells = [PUBLISHED[task].get(system) for task in TASKS]
        rows.append([system, *(f"{v:.1f}" if scores else "" for scores in cells for v in scores or (0, 0, 0))])
    return rows


def table3(options: argparse.Namespace) -> list[list[str]]:
    root = Path(options.models[0])
    full = Scored(root / "full", options.data)
    rows = [["full, q^P", *full.row("prediction")], ["full, both read-outs", *full.row("both")]]
    rows.append(["disambiguation layer only", *full.row("disambiguation")])
    for name in ("no-distinctness", "no-disambiguation"):
        scored = Scored(root / name, options.data)
        rows.append([f"{name.replace('-', ' ')}, q^P", *scored.row("prediction")])
        if scored.model.network.c_d is not None:
            rows.append([f"{name.replace('-', ' ')}, both read-outs", *scored.row("both")])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table", choices=["2", "3"])
    parser.add_argument("data", type=Path, help="holds semeval2010 and semeval2013")
    parser.add_argument("models", nargs="+", help="folders, or name=folder; for Table 3 the folder of the ablations")
    parser.add_argument("--json", type=Path, help="write the rows here too")
    options = parser.parse_args()
    rows = table2(options) if options.table == "2" else table3(options)
    show(rows)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
