"""Do planted homonyms come apart, for two contextualizers and three seeds each? See planted_words.py.

    python benchmarks/planted.py

For each run: the share of 1,000 held-out occurrences on the right side (the best assignment of senses to meanings), the
mean of the largest q^P, and the share of the 45 homonyms with exactly two senses when senses are merged at 0.6.
"""

import time

import planted_words as planted

from polylm.senses.merge_tree import Confusion


def main() -> None:
    variants = [("transformer", {}), ("lstm", {}), ("transformer", {"distinctness": False})]
    for contextualizer, changes in variants:
        for seed in range(3):
            started = time.monotonic()
            model = planted.train(planted.make_model(contextualizer, 8, seed, **changes), 500, seed)
            seconds = time.monotonic() - started
            forms, q, side = planted.occurrences(model)
            confusion = Confusion(model.inventory)
            confusion.add(*planted.occurrences(model, seed=1, n_texts=12_000)[:2])
            tree = confusion.merge_tree()
            merged = tree.merge(model.inventory.poly_words, tree.shares, 0.6)
            print(
                f"{contextualizer:12} {'' if not changes else 'no distinctness':16} seed {seed}  "
                f"right side {planted.separation(forms, q.argmax(1), side):.1%}  "
                f"largest q {q.max(1).values.mean():.3f}  "
                f"exactly two {((merged > 0.05).sum(1) == 2).float().mean():.1%}  {seconds:.0f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
