"""Make the small tagger that ships with the package: label text with spaCy, learn from the labels and from gold.

    pip install -c constraints.txt -e '.[dev]'
    python recipes/train_tagger.py label CORPUS... --gold ewt_train.jsonl.xz --out labelled.npz
    python recipes/train_tagger.py train labelled.npz --device cuda --out src/polylm/text/english.tagger

`label` takes one line in ten of the corpus, 21 M words, and 10 minutes of two cores. Gold is one JSON object a line,
{"w": [words], "t": [Penn tags]}, here the training part of UD English EWT; it is learned twenty times over. `train`
needs torch, numpy and safetensors alone, and a minute and a half of an H200. `benchmarks/tagger.py` says how good the
result is.

The network learns with the rounding that it will be used with: weights in eight bits, activations in seven, so that
the numpy code in `polylm/text/tagger.py` computes the same integers.
"""

import argparse
import json
import lzma
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

from polylm.text.tagger import N_FEATURES, feature_rows

REACH = 3  # CompactTagger._REACH: empty rows between two lines
STEP = 1 / 16  # the unit of activations


Lines = list[tuple[list[str], list[str]]]  # words and tags of each line


# Labelling


def label_source(path: Path, every: int) -> Lines:
    from polylm.corpus.sources import TextFile, chunk_lines
    from polylm.text.tagger import SpacyTagger
    from polylm.text.tokenizer import tokenize

    lines = (line for chunk in TextFile(path).chunks() for line in chunk_lines(chunk))
    words = [[t.norm for t in tokenize(line)][:400] for number, line in enumerate(lines) if number % every == 3 % every]
    words = [line for line in words if len(line) > 3]
    return list(zip(words, SpacyTagger().tag(words), strict=True))


def read_gold(path: Path) -> Lines:
    from polylm.text.tokenizer import normalize

    entries = map(json.loads, lzma.decompress(path.read_bytes()).decode().splitlines())
    return [([normalize(word) for word in entry["w"]], entry["t"]) for entry in entries]


def label(args: argparse.Namespace) -> None:
    from polylm.corpus.sources import find_sources

    words, tags = {"": 0}, {}  # row 0: beyond the line
    ids, labels, lengths = [], [], []

    def add(lines: Lines) -> None:
        for line, line_tags in lines:
            ids.append(np.array([words.setdefault(word, len(words)) for word in line], dtype=np.uint32))
            labels.append(np.array([tags.setdefault(tag, len(tags)) for tag in line_tags], dtype=np.uint8))
            lengths.append(len(line))

    paths = [source.path for source in find_sources(args.corpus)]
    with ProcessPoolExecutor(args.workers) as pool:
        for path, lines in zip(paths, pool.map(label_source, paths, [args.every] * len(paths)), strict=True):
            add(lines)
            print(f"{path.name}: {sum(lengths):,} words labelled", flush=True)
    n_silver = len(lengths)
    for path in args.gold:
        add(read_gold(path))
    np.savez(
        args.out,
        words=np.frombuffer("\n".join(words).encode(), dtype=np.uint8),
        tags=np.array(list(tags)),
        ids=np.concatenate(ids),
        labels=np.concatenate(labels),
        lengths=np.array(lengths),
        n_silver=n_silver,
    )


# Training


class Text:
    """Labelled lines, silver and gold, as rows of one table of words."""

    def __init__(self, path: Path, gold_times: int) -> None:
        with np.load(path) as file:
            words = file["words"].tobytes().decode().split("\n")
            self.tags = file["tags"].tolist()
            self.ids, self.labels = file["ids"].astype(np.int64), file["labels"].astype(np.int64)
            self.lengths, n_silver = file["lengths"], int(file["n_silver"])
        # The teacher takes cafés for a singular. Features see no accents, so such words are learned from their kin.
        unsure = np.array([not word.isascii() and word.islower() for word in words])
        n_silver_words = self.lengths[:n_silver].sum()
        self.labels[:n_silver_words][unsure[self.ids[:n_silver_words]]] = -100
        row_of = {word: row for row, word in enumerate(words)}
        for word in words:
            row_of.setdefault(word.lower(), len(row_of))
        self.words = list(row_of)
        self.lower = np.array([row_of[word.lower()] for word in self.words])
        self.starts = np.cumsum(self.lengths) - self.lengths
        self.order = np.concatenate([np.arange(n_silver), *[np.arange(n_silver, len(self.lengths))] * gold_times])

    def batches(self, n_rows: int, lower: float, seed: int) -> Iterator[tuple[np.ndarray, ...]]:
        """Endless (rows, labels) with empty rows between lines, label -100; a share of the lines in lower case."""
        rng = np.random.default_rng(seed)
        while True:
            order = rng.permutation(self.order)
            ends = np.cumsum(self.lengths[order] + REACH)
            for lines in np.split(order, np.flatnonzero(np.diff(ends // n_rows)) + 1):
                lengths = self.lengths[lines]
                place = np.arange(lengths.sum()) + REACH * np.repeat(np.arange(1, len(lines) + 1), lengths)
                shift = np.cumsum(lengths + REACH) - lengths  # where each line begins in the batch
                source = place + np.repeat(self.starts[lines] - shift, lengths)
                words = self.ids[source]
                lowered = np.repeat(rng.random(len(lines)) < lower, lengths)
                words[lowered] = self.lower[words[lowered]]
                rows = np.zeros(lengths.sum() + REACH * (len(lines) + 1), dtype=np.int64)
                labels = np.full_like(rows, -100)
                rows[place], labels[place] = words, self.labels[source]
                yield *np.unique(rows, return_inverse=True), labels


def train(args: argparse.Namespace) -> None:
    import torch
    import torch.nn.functional as F

    def straight_through(x, rounded):
        return x + (rounded - x).detach()

    def weight8(w):  # (...) -> the same on a grid of 255 steps
        step = w.detach().abs().amax() / 127
        return straight_through(w, torch.round(w / step).clamp(-127, 127) * step)

    def activation7(x, lowest):
        return straight_through(x.clamp(lowest * STEP, 127 * STEP), torch.round(x / STEP).clamp(lowest, 127) * STEP)

    def windows(x, width):  # (n, d) -> (n, width * d)
        x = F.pad(x, (0, 0, width // 2, width // 2))
        return torch.cat([x[i : len(x) - width + 1 + i] for i in range(width)], dim=1)

    torch.manual_seed(args.seed)
    text = Text(args.labelled, args.gold_times)
    n_tags = len(text.tags)
    features = torch.zeros(len(text.words), N_FEATURES, dtype=torch.int64)
    features[1:] = torch.from_numpy(feature_rows(text.words[1:], args.rows).astype(np.int64))
    features = features.to(args.device)

    def matrix(n_in, n_out):
        return torch.nn.Parameter((torch.randn(n_in, n_out) * (1.5 / n_in) ** 0.5).to(args.device))

    def bias(n):
        return torch.nn.Parameter(torch.zeros(n, device=args.device))

    letters, word, window, context = args.sizes
    table = torch.nn.Parameter((torch.randn(args.rows, letters) * 0.2).to(args.device))
    table_bias = bias(letters)
    layers = [
        (matrix(letters, word), bias(word)),
        (matrix(5 * word, window), bias(window)),
        (matrix(3 * window, context), bias(context)),
        (matrix(context, n_tags), bias(n_tags)),
    ]

    def forward(types, inverse, keep):
        """Logits (n, tags) of rows `types[inverse]`; `keep` (types, 1) hides some words from their neighbours."""
        x = activation7(F.embedding_bag(features[types], weight8(table), mode="sum") + table_bias, 0)
        x = activation7(x @ weight8(layers[0][0]) + layers[0][1], -127)
        x = (x * keep)[inverse]
        x = activation7(windows(x, 5) @ weight8(layers[1][0]) + layers[1][1], 0)
        x = activation7(windows(x, 3) @ weight8(layers[2][0]) + layers[2][1], 0)
        return x @ weight8(layers[3][0]) + layers[3][1]

    parameters = [table, table_bias, *[p for layer in layers for p in layer]]
    optimizer = torch.optim.AdamW(parameters, lr=args.lr, betas=(0.9, 0.98), weight_decay=0.0)
    started = time.monotonic()
    for step, (types, inverse, labels) in enumerate(text.batches(args.batch, args.lower, args.seed)):
        if step == args.steps:
            break
        for group in optimizer.param_groups:
            group["lr"] = args.lr * min(1, (step + 1) / 100) * (1 - step / args.steps)
        types, inverse, labels = (torch.from_numpy(a).to(args.device) for a in (types, inverse, labels))
        keep = (types != 0) & (torch.rand(len(types), device=args.device) >= args.drop)
        loss = F.cross_entropy(forward(types, inverse, keep[:, None]), labels)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        if (step + 1) % max(args.steps // 10, 1) == 0:
            print(f"step {step + 1}  loss {loss.item():.4f}  {time.monotonic() - started:.0f} s", flush=True)
    export(args.out, args.name, text.tags, table, table_bias, layers)


def export(out: Path, name: str, tags: list[str], table, table_bias, layers) -> None:
    """Integers, and the factors that bring each layer's sums back to seven bits."""
    from safetensors.numpy import save_file

    def integers(tensor):
        tensor = tensor.detach().cpu().double().numpy()
        step = np.abs(tensor).max() / 127
        return np.rint(tensor / step).astype(np.int8), step

    features, step = integers(table)
    tensors = {
        "features": features,
        "features.bias": np.rint(table_bias.detach().cpu().double().numpy() / step).astype(np.int32),
    }
    scales = [step / STEP]
    for layer, (weight, bias) in zip(("word", "window", "context", "tag"), layers, strict=True):
        tensors[f"{layer}.weight"], step = integers(weight)
        tensors[f"{layer}.bias"] = np.rint(bias.detach().cpu().double().numpy() / (step * STEP)).astype(np.int32)
        scales.append(step)
    tensors["scales"] = np.array(scales[:4], dtype=np.float32)
    save_file(tensors, out, {"name": name, "tags": " ".join(tags)})
    print(f"{out}: {out.stat().st_size:,} bytes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    labelling = commands.add_parser("label")
    labelling.add_argument("corpus", nargs="+", type=Path)
    labelling.add_argument("--gold", type=Path, action="append", default=[])
    labelling.add_argument("--out", type=Path, required=True)
    labelling.add_argument("--every", type=int, default=10, help="label one line in so many")
    labelling.add_argument("--workers", type=int, default=2)
    labelling.set_defaults(run=label)
    training = commands.add_parser("train")
    training.add_argument("labelled", type=Path)
    training.add_argument("--gold-times", type=int, default=20)
    training.add_argument("--out", type=Path, required=True)
    training.add_argument("--name", default="english")
    training.add_argument("--rows", type=int, default=1 << 15, help="of the hashed feature table")
    training.add_argument("--sizes", type=int, nargs=4, default=[64, 48, 96, 64], help="letters, word, window, context")
    training.add_argument("--steps", type=int, default=8000)
    training.add_argument("--batch", type=int, default=1 << 15)
    training.add_argument("--lr", type=float, default=3e-3)
    training.add_argument("--drop", type=float, default=0.1, help="share of word types hidden in a step")
    training.add_argument("--lower", type=float, default=0.04, help="share of lines read in lower case")
    training.add_argument("--seed", type=int, default=0)
    training.add_argument("--device", default="cpu")
    training.set_defaults(run=train)
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    sys.exit(main())
