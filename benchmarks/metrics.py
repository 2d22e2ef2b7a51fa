"""The scorers: seconds and memory on the largest keys, beside a plain double loop over instances.

python benchmarks/metrics.py DATA            # the folder with golden/ and eval/: every recorded key, then the sum
python benchmarks/metrics.py DATA reading    # reading, window making and key writing of both test sets, one core
"""

import resource
import sys
import time
from functools import partial
from pathlib import Path

from naive_metrics import naive_fuzzy_bcubed, naive_fuzzy_nmi

from polylm.evaluation import metrics, semeval2010, semeval2013
from polylm.evaluation.baselines import RandomSenses
from polylm.evaluation.keys import read_key, write_key
from polylm.evaluation.wsi import answers
from polylm.reading.targets import encode

GOLD = {"2010": f"semeval2010/{semeval2010.GOLD}", "2013": f"semeval2013/{semeval2013.GOLD}"}


def seconds(work) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def score(year: str, gold, key) -> None:
    names = ("paired_fscore", "v_measure") if year == "2010" else ("fuzzy_bcubed", "fuzzy_nmi")
    for name in names:
        getattr(metrics, name)(gold, key)


def score_naively(gold, key) -> None:
    for lemma, instances in gold.items():
        naive_fuzzy_bcubed(instances, key.get(lemma, {}))
        naive_fuzzy_nmi(instances, key.get(lemma, {}))


def scoring(data: Path) -> None:
    print(f"{'key':58s} score   naive ratio  peak memory")
    for year in ("2010", "2013"):
        gold = read_key(data / "eval" / GOLD[year])
        paths = sorted((data / "golden/keys").glob(f"semeval{year}-*.key.gz"))
        keys = {path.name.removesuffix(".key.gz"): read_key(path) for path in paths}
        keys["one cluster per instance"] = {lemma: {i: {i: 1.0} for i in given} for lemma, given in gold.items()}
        for name, key in keys.items():
            ours = seconds(partial(score, year, gold, key))
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
            row = f"{name:58s} {ours:5.2f}"
            if year == "2013":
                naive = seconds(partial(score_naively, gold, key))
                row += f" {naive:7.2f} {naive / ours:5.0f}  {peak:.0f} MB"
            print(row)


def reading(data: Path) -> None:
    """With a vocabulary that numbers whatever it meets: the work does not depend on which words are known."""
    import tempfile

    from polylm.symbols import SPECIAL
    from polylm.text.pipeline import TextPipeline

    class Numbered(dict):
        def get(self, word, default=None):
            return self.setdefault(word, len(self))

    start = time.perf_counter()
    pipeline = TextPipeline(Numbered({symbol: number for number, symbol in enumerate(SPECIAL)}))
    for module, name in ((semeval2010, "semeval2010"), (semeval2013, "semeval2013")):
        dataset = module.read(data / "eval" / name)
        encoded = encode([instance.as_target() for instance in dataset.instances], pipeline, 128)
        key = answers(dataset.instances, RandomSenses(8).sense_probs(dataset.instances), graded=name == "semeval2013")
        with tempfile.TemporaryDirectory() as folder:
            write_key(Path(folder) / "a.key", key)
        print(
            f"{name}: {len(encoded):,} instances, {len(encoded.ids):,} ids, {time.perf_counter() - start:.1f} s so far"
        )


if __name__ == "__main__":
    (reading if sys.argv[2:] == ["reading"] else scoring)(Path(sys.argv[1]))
