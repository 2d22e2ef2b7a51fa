"""What people try first: two short sentences, and whether the word has two senses.

    python benchmarks/first_sentences.py [--model DIR] [--read-out reading] [--granularity 1 0.4 0.24]

`first_sentences.jsonl` has 100 words in three bands of frequency (up to rank 3,000, 9,000 and 25,000 of the bundled
vocabulary), written by hand to develop on: two meanings of each, two sentences of each meaning, and one sentence with
the word in both. Of a word's pairs of sentences, what share is right: those of one meaning have one sense, those of two
meanings two. Agreement is the mean of both.
"""

import argparse
import json
import re
from collections import defaultdict
from pathlib import Path

import numpy as np

import polylm

SENTENCES = Path(__file__).with_name("first_sentences.jsonl")


def unmarked(sentence: str) -> tuple[str, list[int]]:
    """A sentence without its brackets, and where the marked words begin."""
    starts = [match.start() - 2 * number for number, match in enumerate(re.finditer(r"\[", sentence))]
    return sentence.replace("[", "").replace("]", ""), starts


def scores(model: polylm.Model, granularity: float, read_out: str) -> dict[str, dict[str, float]]:
    """By band: agreement, pairs kept together, pairs told apart, doubles told apart, words with one sense only."""
    words = [json.loads(line) for line in SENTENCES.read_text(encoding="utf-8").splitlines()]
    marked = [[*(s for meaning in word["meanings"] for s in meaning["sentences"]), word["double"]] for word in words]
    plain = [unmarked(sentence) for own in marked for sentence in own]
    tagged = model.tag_many([text for text, _ in plain], granularity=granularity, read_out=read_out)
    senses = [
        [next((token.sense for token in tokens if token.start <= start < token.end), None) for start in starts]
        for (_, starts), tokens in zip(plain, tagged, strict=True)
    ]
    found: dict[str, list[list[float]]] = defaultdict(list)
    for number, word in enumerate(words):
        (a,), (b,), (c,), (d,), double = senses[5 * number : 5 * number + 5]
        together = np.mean([a == b, c == d])
        apart = np.mean([x != y for x in (a, b) for y in (c, d)])
        several = model.lexicon.n_senses(word["word"], granularity=granularity) > 1
        row = [(together + apart) / 2, together, apart, double[0] != double[1], not several]
        found[word["band"]].append(row)
        found["all"].append(row)
    names = ("agreement", "together", "apart", "double", "one sense")
    return {band: dict(zip(names, np.mean(rows, axis=0).tolist(), strict=True)) for band, rows in found.items()}


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", type=Path)
    parser.add_argument("--read-out", default="auto")
    parser.add_argument("--granularity", type=float, nargs="+")
    chosen = parser.parse_args()
    model = polylm.load(chosen.model)
    print("granularity\tband\tagreement\ttogether\tapart\tdouble\tone sense")
    for granularity in chosen.granularity or [model.granularity]:
        for band, row in scores(model, granularity, chosen.read_out).items():
            print(f"{granularity:g}\t{band}\t" + "\t".join(f"{100 * value:.1f}" for value in row.values()))


if __name__ == "__main__":
    main()
