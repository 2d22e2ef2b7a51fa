"""Give a finished model senses of words that have one, where their contexts say so: some twenty minutes on two cores.

    polylm prepare TEXTS --vocabulary MODEL --out CORPUS
    python recipes/grow.py MODEL CORPUS OUT [--share 0.32] [--card CARD.md]

Nothing is trained: contexts are read with the network as it is and clustered (training/growth.py).
"""

import argparse
import logging
from pathlib import Path

from polylm.bundle.bundle import Bundle
from polylm.corpus.shards import PreparedCorpus
from polylm.explore.model import Model
from polylm.reading.precision import set_precision
from polylm.training.growth import Growth, grow


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--share", type=float, default=Growth.share)
    parser.add_argument("--senses", type=int, default=Growth.senses)
    parser.add_argument("--lead", type=float, default=Growth.lead)
    parser.add_argument("--card", type=Path)
    options = parser.parse_args()
    logging.basicConfig(format="%(message)s", level=logging.INFO)
    bundle = Bundle.read(options.model)
    set_precision(bundle.network, "auto")
    bundle.network.keep_inputs()
    how = Growth(share=options.share, senses=options.senses, lead=options.lead)
    model = Model(grow(bundle, PreparedCorpus(options.corpus), how), device="cpu", share=True)
    card = options.card.read_text(encoding="utf-8") if options.card else None
    model.save_pretrained(options.out, precision="int6", card=card, labels=True)
    inventory, size = model.network.inventory, sum(path.stat().st_size for path in options.out.iterdir())
    found = f"{len(inventory.poly_words):,} words of several senses, {inventory.n_rows:,} senses, {size / 1e6:.1f} MB"
    print(f"{options.out}: {found}")


if __name__ == "__main__":
    main()
