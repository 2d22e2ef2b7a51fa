"""Does training find senses in real text? Forty made-up words stand for two nouns each; a tiny model learns on a CPU.

    python benchmarks/planted_text.py plant TEXT... --out FOLDER     # 20 MB of text, planted; and held-out sentences
    polylm prepare FOLDER/text.txt --focus FOLDER/focus.txt --out FOLDER/corpus
    polylm train FOLDER/corpus --out FOLDER/model --size tiny --budget 20m
    python benchmarks/planted_text.py score FOLDER                   # share of held-out occurrences on the right side

A sense counts for the noun that it is met with most; what is reported is the share of occurrences that fall to a sense
of their own noun. The nouns are chosen by count alone, and paired by lot. `plant` also says how well a naive Bayes
classifier tells the nouns apart that is told them in the same text: what a model could learn with labels.
"""

import argparse
import json
import math
import random
import re
from collections import Counter, defaultdict
from pathlib import Path

from polylm.text.pipeline import TextPipeline

N_PAIRS, N_BYTES = 40, 20_000_000


def nouns(lines: list[str]) -> list[str]:
    """Eighty nouns: singular, five letters or more, among the 250 commonest such but for the 60 commonest."""
    pipeline, counts = TextPipeline(), Counter()
    for line in lines:
        for word in pipeline.analyze(line):
            if word.tag == "NN" and word.text.isalpha() and word.text.islower() and len(word.text) >= 5:
                counts[word.text] += 1
    ranked = [word for word, _ in counts.most_common(250)][60:]
    return random.Random(0).sample(ranked, 2 * N_PAIRS)


def plant(options) -> None:
    lines: list[str] = []
    for path in options.text:
        with path.open(encoding="utf-8") as file:
            lines += file.read(N_BYTES // len(options.text)).split("\n")[:-1]
    rng = random.Random(1)
    rng.shuffle(lines)
    chosen = nouns(lines[: len(lines) // 10])
    form_of = {}
    for number in range(N_PAIRS):
        form = "".join(rng.choice(part) for part in ("bdfgklmpst", "aeiou", "bdglmnprst", "aeiou", "bdgkmnpt")) + "o"
        form_of[chosen[2 * number]] = form_of[chosen[2 * number + 1]] = form
    pattern = re.compile(rf"\b({'|'.join(chosen)})\b")
    options.out.mkdir(parents=True, exist_ok=True)
    held = lines[: len(lines) // 50]
    text = "\n".join(pattern.sub(lambda match: form_of[match[0]], line) for line in lines[len(held) :]) + "\n"
    (options.out / "text.txt").write_text(text, encoding="utf-8")
    (options.out / "focus.txt").write_text("\n".join(sorted(set(form_of.values()))) + "\n")
    rows = []
    for line in held:
        for match in pattern.finditer(line):
            left, right = (
                pattern.sub(lambda m: form_of[m[0]], part) for part in (line[: match.start()], line[match.end() :])
            )
            form = form_of[match[0]]
            rows.append({"left": left, "focus": form, "right": right, "lemma": form, "pos": "n", "sense": match[0]})
    (options.out / "held.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    print(f"{len(text):,} characters, {len(set(form_of.values()))} forms, {len(rows):,} held-out occurrences")
    told = naive_bayes(lines[len(held) :], rows, form_of, pattern)
    print(f"naive Bayes with the nouns as labels: {told:.1%} right")


def features(left: str, right: str) -> list[str]:
    """Ten words on either side, the two nearest with their places."""
    before, after = re.findall(r"[a-z]+", left.lower())[-10:], re.findall(r"[a-z]+", right.lower())[:10]
    near = [
        f"{side}{i} {word}" for side, words in (("-", before[::-1]), ("+", after)) for i, word in enumerate(words[:2])
    ]
    return [*before, *after, *near]


def naive_bayes(
    lines: list[str], held: list[dict[str, str]], form_of: dict[str, str], pattern: re.Pattern[str]
) -> float:
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    n = Counter[str]()
    for line in lines:
        for match in pattern.finditer(line):
            sides = (
                pattern.sub(lambda m: form_of[m[0]], part) for part in (line[: match.start()], line[match.end() :])
            )
            counts[match[0]].update(features(*sides))
            n[match[0]] += 1
    size = 0.3 * len({feature for found in counts.values() for feature in found})
    totals = {noun: sum(found.values()) + size for noun, found in counts.items()}

    def score(noun: str, found: list[str]) -> float:
        return math.log(n[noun] + 1) + sum(math.log((counts[noun][f] + 0.3) / totals[noun]) for f in found)

    right = 0
    for row in held:
        found = features(row["left"], row["right"])
        nouns_of = [noun for noun, form in form_of.items() if form == row["focus"]]
        right += max(nouns_of, key=lambda noun: score(noun, found)) == row["sense"]
    return right / len(held)


def score(options) -> None:
    import polylm
    from polylm.evaluation import own
    from polylm.evaluation.systems import PolyLMSystem

    dataset = own.read(options.folder / "held.jsonl")
    model = polylm.load(options.folder / "model", device="cpu")
    meant = [next(iter(dataset.gold[i.target][i.id])) for i in dataset.instances]
    for read_out in ("prediction", "disambiguation", "both"):
        probs = PolyLMSystem(model, read_out=read_out, granularity=1.0).sense_probs(dataset.instances)
        table: dict[str, Counter] = defaultdict(Counter)
        largest = defaultdict(Counter)
        for instance, q, noun in zip(dataset.instances, probs, meant, strict=True):
            table[next(iter(q), instance.target)][noun] += 1
            largest[instance.target][noun] += 1
        right = sum(counts.most_common(1)[0][1] for counts in table.values())
        base = sum(counts.most_common(1)[0][1] for counts in largest.values())
        of_all = f"{right / len(meant):.1%} of {len(meant):,} on the right side"
        print(f"{read_out}: {of_all}; one sense {base / len(meant):.1%}")


def main() -> None:
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(required=True)
    planting = commands.add_parser("plant")
    planting.add_argument("text", type=Path, nargs="+")
    planting.add_argument("--out", type=Path, required=True)
    planting.set_defaults(run=plant)
    scoring = commands.add_parser("score")
    scoring.add_argument("folder", type=Path)
    scoring.set_defaults(run=score)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
