"""How do scores change with the granularity? Development sets decide the default; test sets are only shown.

    python benchmarks/granularity.py MODEL EVAL --out curve.svg      # EVAL holds wsi-dev.jsonl.xz, semeval2013-trial, …

Each text is read once; senses are merged in the distributions.
"""

import argparse
from pathlib import Path

import numpy as np

import polylm
from polylm.evaluation import own, semeval2010, semeval2013
from polylm.evaluation.systems import PolyLMSystem
from polylm.evaluation.wsi import judge

SETS = {
    "development": ("wsi-dev.jsonl.xz", own.read),
    "trial": ("semeval2013-trial", semeval2013.read_trial),
    "SemEval-2010": ("semeval2010", semeval2010.read),
    "SemEval-2013": ("semeval2013", semeval2013.read),
}
GRANULARITIES = [round(x, 3) for x in np.linspace(0.1, 0.6, 26)] + [0.7, 0.8, 1.0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path, help="a folder, or `bundled`")
    parser.add_argument("eval", type=Path)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    model = polylm.load(None if str(options.model) == "bundled" else options.model)
    if model.lexicon.merge_tree is None:
        parser.error(f"{options.model} was saved without the confusions of its senses: there is nothing to turn")
    curves: dict[str, list[float]] = {}
    for name, (path, reader) in SETS.items():
        dataset = reader(options.eval / path)
        system = PolyLMSystem(model)
        windows = system.encode(dataset.instances)
        q = model.reader.read(windows).q
        curves[name] = []
        for granularity in GRANULARITIES:
            probs = system.labelled(q, windows, dataset.instances, granularity)
            curves[name].append(100 * judge(dataset, probs, baselines=False).scores.totals["avg"])
    print("granularity\t" + "\t".join(curves))
    for i, granularity in enumerate(GRANULARITIES):
        print(f"{granularity:g}\t" + "\t".join(f"{curve[i]:.2f}" for curve in curves.values()))
    print(f"best on the development set: {GRANULARITIES[int(np.argmax(curves['development']))]:g}")
    if options.out:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(7, 4.5), layout="constrained")
        axis = figure.subplots()
        for name, curve in curves.items():
            axis.plot(
                GRANULARITIES, curve, "o-" if name == "development" else ".--", label=name, markersize=4, linewidth=1
            )
        axis.set_xlabel("granularity")
        axis.set_ylabel("AVG")
        axis.legend(frameon=False)
        figure.savefig(options.out)


if __name__ == "__main__":
    main()
