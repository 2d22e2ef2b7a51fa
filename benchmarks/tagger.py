"""How good and how fast is the small tagger, beside spaCy's, in one run?

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/tagger.py DATA

DATA holds tagging/brown.jsonl.xz and tagging/ewt_test.jsonl.xz, {"w": words, "t": Penn tags, "l": lemmas} a line. A
word counts when it is alphabetic and its gold tag is not SKIP. `class` is the share with the right inflection marker
(Brown does not tell VB from VBP: there they are one class), `class+lemma` with the right lemma too, `tag` with the
right Penn tag. Speed is words a second of the processor on Brown, words known already, so the tagging alone.
"""

import json
import lzma
import sys
import time
from pathlib import Path

import numpy as np

from polylm.text.lemmatizer import INFLECTIONS, Lemmatizer
from polylm.text.tagger import CompactTagger, SpacyTagger, Tagger
from polylm.text.tokenizer import normalize


def read(path: Path) -> list[dict]:
    with lzma.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def class_of(tag: str, merged: bool) -> str | None:
    return INFLECTIONS.get("VBP" if merged and tag == "VB" else tag, (None,))[0]


def scores(tagger: Tagger, lines: list[dict], merged: bool) -> dict[str, float]:
    predicted = tagger.tag([[normalize(word) for word in line["w"]] for line in lines])
    lemmatizer = Lemmatizer()
    right = []
    for line, tags in zip(lines, predicted, strict=True):
        for word, tag, gold, lemma in zip(line["w"], tags, line["t"], line["l"], strict=True):
            if not word.isalpha() or gold == "SKIP":
                continue
            same = class_of(tag, merged) == class_of(gold, merged)
            expected = lemma.lower() if lemma and gold in INFLECTIONS else word.lower()
            right.append((same, same and lemmatizer(word, tag)[0] == expected, tag == gold))
    shares = 100 * np.array(right).mean(axis=0)
    result = {"words": len(right), "class": shares[0], "class+lemma": shares[1], "tag": shares[2]}
    return {k: v for k, v in result.items() if not merged or k in ("words", "class")}  # Brown has no lemmas


def speed(tagger: Tagger, lines: list[dict], seconds: float = 5.0) -> float:
    """Words a second of processor time, best of the rounds that fit."""
    words = [normalize(word) for line in lines for word in line["w"]]
    lengths = np.array([len(line["w"]) for line in lines])
    rows = np.array(tagger.rows(words))
    best, spent = float("inf"), 0.0
    while spent < seconds:
        started = time.process_time()
        tagger.tag_rows(rows, lengths)
        best = min(best, time.process_time() - started)
        spent += time.process_time() - started
    return len(words) / best


def main() -> None:
    folder = Path(sys.argv[1]) / "tagging"
    sets = {"brown": (read(folder / "brown.jsonl.xz"), True), "ewt_test": (read(folder / "ewt_test.jsonl.xz"), False)}
    rates = {}
    for name, tagger in (("polylm", CompactTagger()), ("spaCy", SpacyTagger())):
        for set_name, (lines, merged) in sets.items():
            shown = "  ".join(
                f"{k} {v:,.2f}" if k != "words" else f"{v:,} words" for k, v in scores(tagger, lines, merged).items()
            )
            print(f"{name:8}{set_name:10}{shown}", flush=True)
        rates[name] = speed(tagger, sets["brown"][0])
        print(f"{name:8}speed     {rates[name]:,.0f} words/s", flush=True)
    print(f"ratio of speeds {rates['polylm'] / rates['spaCy']:.1f}")


if __name__ == "__main__":
    main()
