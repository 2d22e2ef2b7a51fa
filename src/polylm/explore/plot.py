"""Pictures: words and their senses on a plane, as in Figure 1 of the paper; and the course of a training run."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polylm.atomic import replacing, write_bytes
from polylm.errors import UserError
from polylm.explore.tagging import Tagger
from polylm.senses.keys import split_key, word_of
from polylm.senses.lexicon import Lexicon

SUFFIXES = (".png", ".svg", ".pdf")


def plot_words(
    lexicon: Lexicon,
    words: Sequence[str],
    out: str | Path,
    *,
    single: Lexicon | None = None,
    around: int = 6,
    least: float = 0.02,
    granularity: float | None = None,
    seed: int = 0,
) -> None:
    """One vector a word on the left, one a sense on the right; t-SNE of their directions.

    Drawn are the words, those of their senses that have at least the share `least`, and so many neighbours of each.
    On the left are the vectors of `single`, a model trained with one sense a word, or else what the model itself
    reads of a word before it is disambiguated.
    """
    out = _picture(out)
    by_word = lexicon.senses(list(dict.fromkeys(words)), granularity=granularity, topn=around)
    senses = [sense for senses_of_word in by_word for sense in senses_of_word]
    shown = [sense.key for sense in senses if sense.share >= least]
    near = [key for sense in senses if sense.key in shown for key, _ in sense.neighbours]
    keys = list(dict.fromkeys([*shown, *near]))
    chosen = {word_of(key) for key in shown}
    names = list(dict.fromkeys(word_of(key) for key in keys))
    left = single or lexicon
    names = [name for name in names if name in left.vocabulary]
    size = 6.5 * max(1.0, (len(keys) / 90) ** 0.5)  # room for labels
    figure, (word_axis, sense_axis) = _figure((2 * size, size), 1, 2)
    vectors = left.word_directions(names)
    _scatter(word_axis, vectors, names, [name in chosen for name in names], seed)
    word_axis.set_title("word vectors")
    vectors = np.stack([lexicon.vectors[key] for key in keys])
    often = Counter(map(word_of, keys))
    labels = [key if word_of(key) in chosen or often[word_of(key)] > 1 else word_of(key) for key in keys]
    _scatter(sense_axis, vectors, labels, [key in shown for key in keys], seed)
    sense_axis.set_title("sense vectors")
    _save(figure, out)


def plot_text(tagger: Tagger, text: str, out: str | Path) -> None:
    """A bar for each word of several senses: how likely each of them is here."""
    out = _picture(out)
    lexicon = tagger.lexicon
    tokens = [token for token in tagger.tag(text) if token.sense is not None and lexicon.n_senses(token.lemma) > 1]
    if not tokens:
        raise UserError("no word of this text has several senses")
    figure, axis = _figure((8, 0.6 + 0.42 * len(tokens)), 1, 1)
    for place, token in enumerate(tokens):
        left = 0.0
        for key, probability in token.distribution.items():
            parts = split_key(key)
            assert parts is not None
            colour = f"C{(parts.number - 1) % 10}"
            axis.barh(place, probability, left=left, color=colour, edgecolor="white", height=0.7)
            if probability > 0.12:
                label = f"{key} {lexicon.labels([key])[0]}" if probability > 0.35 else key
                axis.text(left + 0.01, place, label, va="center", fontsize=8, color="white", clip_on=True)
            left += probability
    axis.set_yticks(range(len(tokens)), [token.text for token in tokens])
    axis.invert_yaxis()
    axis.set_xlim(0, 1)
    axis.set_xlabel("probability of each sense")
    _save(figure, out)


def sense_map(lexicon: Lexicon, out: str | Path, *, n: int = 4000, least: float = 0.02, seed: int = 0) -> int:
    """One page of the commonest senses on a plane, to zoom, search and click, offline; how many there are."""
    vectors, shares = lexicon.vectors, lexicon.shares()
    often = np.array([lexicon.vocabulary.count(word_of(key)) for key in vectors.keys]) * shares
    often = np.where(shares >= least, often, 0)
    chosen = np.argsort(-often, kind="stable")[:n]
    chosen = chosen[often[chosen] > 0]
    points = _plane(vectors.vectors[chosen], seed, perplexity=30.0)
    points = (points - points.mean(axis=0)) / max(float(np.abs(points - points.mean(axis=0)).max()), 1e-9)
    near = lexicon.nearest([vectors.keys[row] for row in chosen], 8)
    rows = [
        [
            vectors.keys[row],
            round(float(x), 4),
            round(float(y), 4),
            round(float(shares[row]), 3),
            [k for k, _ in neighbours],
        ]
        for row, (x, y), neighbours in zip(chosen.tolist(), points, near, strict=True)
    ]
    data = json.dumps(rows, ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/")
    page = (Path(__file__).parent / "map.html").read_text(encoding="utf-8").replace("/*DATA*/", data)
    write_bytes(out, page.encode())
    return len(rows)


def _plane(vectors: NDArray[np.float32], seed: int, perplexity: float) -> NDArray[np.float32]:
    """t-SNE by cosine."""
    try:
        from sklearn.manifold import TSNE
    except ImportError:
        raise UserError("drawing needs scikit-learn: pip install 'polylm[plot]'") from None
    if len(vectors) < 4:
        raise UserError("there is too little to draw: give more words")
    perplexity = min(perplexity, (len(vectors) - 1) / 3)
    points: NDArray[np.float32] = TSNE(
        perplexity=perplexity, metric="cosine", init="pca", random_state=seed
    ).fit_transform(vectors)
    return points


def _scatter(axis: Any, vectors: NDArray[np.float32], labels: list[str], bold: list[bool], seed: int) -> None:
    """Points with labels that do not lie upon each other."""
    try:
        from adjustText import adjust_text
    except ImportError:
        raise UserError("drawing needs adjustText: pip install 'polylm[plot]'") from None
    points = _plane(vectors, seed, perplexity=15.0)
    colours = ["tab:red" if strong else "0.45" for strong in bold]
    axis.scatter(points[:, 0], points[:, 1], s=9, c=colours)
    texts = [
        axis.text(x, y, label, fontsize=8, color=colour if strong else "0.2", fontweight="bold" if strong else "normal")
        for (x, y), label, colour, strong in zip(points.tolist(), labels, colours, bold, strict=True)
    ]
    axis.set_xticks([])
    axis.set_yticks([])
    axis.margins(0.08)
    adjust_text(texts, ax=axis, expand=(1.1, 1.3), arrowprops={"arrowstyle": "-", "color": "0.75", "lw": 0.5})


def plot_run(folder: str | Path, out: str | Path) -> None:
    """Losses, held-out likelihood, senses and speed over the share of the run that was done."""
    path, out = Path(folder) / "log.jsonl", _picture(out)
    if not path.is_file():
        raise UserError(f"{folder} holds no run: it has no {path.name}")
    records = _records(path)
    steps = [record for record in records if "lm" in record]
    looks = [record for record in records if "held_out" in record and "share" in record]
    if not steps:
        raise UserError(f"{path} has no steps yet")
    figure, axes = _figure((7, 8), 3, 1)
    loss, senses, speed = axes
    shares = [record["share"] for record in steps]
    loss.plot(shares, [record["lm"] for record in steps], label="training", linewidth=1)
    loss.plot([r["share"] for r in looks], [r["held_out"] for r in looks], "o-", label="held-out", markersize=3)
    loss.set_ylabel("negative log likelihood")
    loss.legend(frameon=False)
    senses.plot([r["share"] for r in looks], [r["effective_senses"] for r in looks], "o-", markersize=3)
    senses.set_ylabel("effective senses a word")
    senses.set_ylim(bottom=0)
    speed.plot(shares, [record["tokens_per_s"] for record in steps], linewidth=1)
    speed.set_ylabel("tokens a second")
    speed.set_ylim(bottom=0)
    speed.set_xlabel("share of the run")
    split = next((record for record in records if record.get("split")), None)
    if split is not None:
        share = float(np.interp(split["step"], [record["step"] for record in steps], shares))
        for axis in axes:
            axis.axvline(share, color="0.7", linewidth=1, linestyle=":")
        senses.annotate(" split", (share, 0), va="bottom", color="0.5", fontsize=8)
    _save(figure, out)


def _records(path: Path) -> list[dict[str, Any]]:
    records = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            records.append(json.loads(line))
        except ValueError:
            continue  # cut off by a kill
    return [record for record in records if isinstance(record, dict)]


def _picture(out: str | Path) -> Path:
    if Path(out).suffix.lower() not in SUFFIXES:
        raise UserError(f"{out} is not a picture file: its name must end with {', '.join(SUFFIXES)}")
    return Path(out)


def _save(figure: Any, out: Path) -> None:
    with replacing(out) as file:
        figure.savefig(file, format=out.suffix[1:].lower())


def _figure(size: tuple[float, float], rows: int, columns: int) -> Any:
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise UserError("drawing needs matplotlib: pip install 'polylm[plot]'") from None
    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)  # labels are measured before they are drawn
    return figure, figure.subplots(rows, columns, sharex=rows > 1)
