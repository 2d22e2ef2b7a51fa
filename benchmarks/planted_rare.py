"""Are rare homonyms found? Made-up words that stand for two real ones each, in a prepared corpus.

    python benchmarks/planted_rare.py plant CORPUS WORDNET OUT      # OUT/corpus, planted; OUT/held.npz
    polylm train OUT/corpus --out OUT/model --size base --budget 8m --set sense_numbers=learned
    python benchmarks/planted_rare.py score OUT [--model DIR] [--granularity 1 0.3]

Sixty pairs in each of two bands of frequency: nouns that WordNet gives one sense, each with 150 to 900 occurrences, or
with 900 to 5,000, paired by lot. A fifth of their occurrences is held out: there the text that is trained on has [UNK].
A sense counts for the word that it is met with most. As many nouns of the same bands are left as they are: they should
have one sense. `score` needs torch and numpy alone.
"""

import argparse
import hashlib
import json
import random
import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from polylm.bundle.bundle import Bundle
from polylm.corpus.shards import PreparedCorpus, ShardWriter, write_manifest
from polylm.device import choose_device
from polylm.reading.precision import set_precision
from polylm.reading.reader import Reader
from polylm.reading.windows import Text, cut
from polylm.symbols import UNKNOWN_ID
from polylm.text.settings import TEXT
from polylm.text.vocabulary import VOCABULARY, Vocabulary
from polylm.wordnet import WordNet

BANDS = ((150, 900), (900, 5_000))
PAIRS = 60
HELD = 0.2  # of the occurrences
READ = 100  # of the held-out occurrences of a planted word, at most
WINDOW = 128  # ids
LIVING = 0.02  # of a word's occurrences, below which a sense does not count


def nouns(vocabulary: Vocabulary, wordnet: WordNet, band: tuple[int, int]) -> list[int]:
    """Words that are one noun in WordNet and nothing else."""
    found = []
    for number, (word, count) in enumerate(zip(vocabulary.words, vocabulary.counts, strict=True)):
        if band[0] <= count < band[1] and re.fullmatch(r"[a-z]{4,}", word):
            synsets = wordnet.of_word(word)
            if len(synsets) == 1 and "%1:" in synsets[0][0]:
                found.append(number)
    return found


def plant(options: argparse.Namespace) -> None:
    """Write a corpus in which pairs of words are one."""
    corpus, wordnet = PreparedCorpus(options.corpus), WordNet(options.wordnet)
    vocabulary, lot = corpus.vocabulary(), random.Random(0)
    pairs: list[tuple[int, int]] = []
    single: list[int] = []
    for band in BANDS:
        chosen = lot.sample(nouns(vocabulary, wordnet, band), 3 * PAIRS)
        pairs += zip(chosen[:PAIRS], chosen[PAIRS : 2 * PAIRS], strict=True)
        single += chosen[2 * PAIRS :]
    words, counts = list(vocabulary.words), list(vocabulary.counts)
    becomes = np.arange(len(words))
    for number, (a, b) in enumerate(pairs):
        becomes[b] = a
        words[a] = "planted" + chr(97 + number // 26) + chr(97 + number % 26)
        counts[a], counts[b] = round((1 - HELD) * (counts[a] + counts[b])), 0
    ids = np.concatenate([np.asarray(shard) for shard in corpus.shards])
    side = np.full(len(words), -1, dtype=np.int64)
    for a, b in pairs:
        side[a], side[b] = 0, 1
    at = np.flatnonzero(side[ids] >= 0)
    at = at[(at >= WINDOW) & (at < len(ids) - WINDOW)]
    held = at[np.random.default_rng(0).random(len(at)) < HELD]
    sides = side[ids[held]]
    ids = becomes[ids].astype(ids.dtype)
    windows = ids[held[:, None] + np.arange(-WINDOW // 2, WINDOW // 2)]
    ids[held] = UNKNOWN_ID
    out = options.out / "corpus"
    out.mkdir(parents=True)
    writer = ShardWriter(out, len(words))
    writer.add(ids)
    (out / VOCABULARY).write_bytes(Vocabulary(words, counts, [1] * len(words)).to_bytes())
    (out / TEXT).write_bytes((corpus.folder / TEXT).read_bytes())
    files = [
        {"file": name, "sha256": hashlib.sha256((out / name).read_bytes()).hexdigest()} for name in (VOCABULARY, TEXT)
    ]
    write_manifest(out, {**corpus.manifest, "shards": writer.close(), "files": files})
    np.savez_compressed(options.out / "held.npz", windows=windows, sides=sides)
    about = {"planted": [a for a, _ in pairs], "bands": [n // PAIRS for n in range(len(pairs))], "single": single}
    (options.out / "planted.json").write_text(json.dumps(about) + "\n")
    print(f"{len(pairs)} planted words, {len(held):,} of {len(at):,} occurrences held out")


def living(bundle: Bundle, granularity: float) -> Any:
    """(V,) how many senses of each word are used."""
    inventory, shares = bundle.network.inventory, bundle.network.shares().cpu()
    heads = torch.arange(inventory.n_rows)
    if granularity < 1 and bundle.merge_tree is not None:
        heads = bundle.merge_tree.representatives(granularity)
    merged = torch.zeros(inventory.n_rows).index_add_(0, heads, shares)
    return (
        torch.zeros(inventory.n_words).index_add_(0, inventory.word_of_sense.cpu(), (merged >= LIVING).float()).numpy()
    )


def score(options: argparse.Namespace) -> None:
    """Print a table."""
    bundle = Bundle.read(options.model or options.folder / "model")
    bundle.network.to(choose_device(options.device))
    set_precision(bundle.network, "auto")
    bundle.network.keep_inputs()
    about = json.loads((options.folder / "planted.json").read_text())
    with np.load(options.folder / "held.npz") as file:
        windows, sides = file["windows"].astype(np.int64), file["sides"]
    mixed = np.random.default_rng(0).permutation(len(sides))
    windows, sides = windows[mixed], sides[mixed]
    word = windows[:, WINDOW // 2]
    order = np.argsort(word, kind="stable")
    number = np.arange(len(word)) - np.searchsorted(word[order], word[order])
    used = order[number < READ]
    windows, sides, word = windows[used], sides[used], word[used]
    texts = [Text(ids, [WINDOW // 2], [target]) for ids, target in zip(windows, word, strict=True)]
    length, n_words = bundle.network.config.max_length, bundle.network.inventory.n_words
    q = Reader(bundle.network).read(cut(texts, length, n_words)).q
    band_of = dict(zip(about["planted"], about["bands"], strict=True))
    print("granularity\toccurrences\tright side\tif one sense\ttwo senses or more\tsingle nouns with one")
    for granularity in options.granularity:
        merged = q if bundle.merge_tree is None else bundle.merge_tree.merge_arrays(word, q, granularity)
        best, n_living = merged.argmax(axis=1), living(bundle, granularity)
        for band, (least, below) in enumerate(BANDS):
            met: dict[tuple[int, int], Counter[int]] = defaultdict(Counter)
            whole: dict[int, Counter[int]] = defaultdict(Counter)
            for target, sense, side in zip(word.tolist(), best.tolist(), sides.tolist(), strict=True):
                if band_of[target] == band:
                    met[target, sense][side] += 1
                    whole[target][side] += 1
            n = sum(counts.total() for counts in whole.values())
            right, one = (sum(max(counts.values()) for counts in table.values()) / n for table in (met, whole))
            several = np.mean([n_living[target] > 1 for target in whole])
            alone = np.mean([n_living[target] == 1 for target in about["single"][band * PAIRS : (band + 1) * PAIRS]])
            print(
                f"{granularity:g}\t{least} to {below}\t{right:.1%}\t{one:.1%}\t{several:.1%}\t{alone:.1%}", flush=True
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(required=True)
    planting = commands.add_parser("plant")
    for name in ("corpus", "wordnet", "out"):
        planting.add_argument(name, type=Path)
    planting.set_defaults(run=plant)
    scoring = commands.add_parser("score")
    scoring.add_argument("folder", type=Path)
    scoring.add_argument("--model", type=Path)
    scoring.add_argument("--granularity", type=float, nargs="+", default=[1.0, 0.3, 0.24])
    scoring.add_argument("--device", default="auto")
    scoring.set_defaults(run=score)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
