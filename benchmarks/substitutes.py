"""Of the words that are offered for a word in a sentence, how many would a reader accept?

    python benchmarks/substitutes.py [--model DIR] [--show]

`substitutes.jsonl` has 100 sentences, written by hand to develop on, 8 to 18 words for each that would do. Lists are
never whole, so what counts here is a lower bound, and for comparing ways to choose.
"""

import argparse
import json
from collections import defaultdict
from pathlib import Path

import numpy as np

import polylm

SENTENCES = Path(__file__).with_name("substitutes.jsonl")


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", type=Path)
    parser.add_argument("--show", action="store_true", help="every sentence and its five words; * for those listed")
    chosen = parser.parse_args()
    model = polylm.load(chosen.model)
    found = defaultdict(list)
    for line in SENTENCES.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        five = [word for word, _ in model.substitutes(row["text"], 5, inflected=False)]
        listed = sum(word in row["good"] for word in five)
        for group in (row["pos"], "all"):
            found[group].append(listed)
        if chosen.show:
            print(row["text"], "|", *(word + "*" * (word in row["good"]) for word in five))
    print("words\tsentences\tlisted of five\tone or more\tthree or more")
    for group, counts in found.items():
        n = np.array(counts)
        print(f"{group}\t{len(n)}\t{n.mean():.2f}\t{100 * (n >= 1).mean():.0f} %\t{100 * (n >= 3).mean():.0f} %")


if __name__ == "__main__":
    main()
