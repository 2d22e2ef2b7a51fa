"""Make a trained model small enough to ship: dead senses pruned, few bits a weight, granularity set, a card.

    python recipes/bundle.py MODEL OUT --granularity 0.24 [--least 0.005] [--card CARD.md]

`OUT` may be src/polylm/pretrained/english, where `polylm.load()` looks.
"""

import argparse
from pathlib import Path

import polylm


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--granularity", type=float, required=True)
    parser.add_argument("--least", type=float, default=0.005, help="senses with a smaller share are pruned")
    parser.add_argument("--precision", default="int6", help="float32, float16, int8 or int6")
    parser.add_argument("--card", type=Path)
    options = parser.parse_args()
    model = polylm.load(options.model, device="cpu", granularity=options.granularity)
    before = model.network.inventory.n_rows
    model = model.prune(options.least)
    card = options.card.read_text(encoding="utf-8") if options.card else None
    model.save_pretrained(options.out, precision=options.precision, card=card, labels=True)
    size = sum(path.stat().st_size for path in options.out.iterdir())
    print(f"{options.out}: {model.network.inventory.n_rows:,} of {before:,} senses, {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
