"""plot and map: pictures of senses, texts and runs."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from polylm.commands.options import DeviceName, Granularity, ModelDir
from polylm.errors import UserError


def plot(
    words: Annotated[list[str] | None, typer.Argument(help="Words to draw.", metavar="[WORD]...")] = None,
    run: Annotated[Path | None, typer.Option(help="Draw the course of this training run instead.")] = None,
    text: Annotated[str | None, typer.Option(help="Draw the senses of each word of this text instead.")] = None,
    out: Annotated[Path, typer.Option(help="A .png, .svg or .pdf file.")] = Path("polylm.svg"),
    model: ModelDir = None,
    single: Annotated[
        Path | None, typer.Option(help="A model with one sense a word, to take the word vectors from.")
    ] = None,
    around: Annotated[int, typer.Option(min=1, help="Neighbours of each sense.")] = 6,
    granularity: Granularity = None,
    device: DeviceName = "auto",
) -> None:
    """Draw words beside their senses, as Figure 1 of the paper does; or how a training run went."""
    from polylm.atomic import check_writable
    from polylm.explore.plot import plot_run, plot_text, plot_words

    if bool(words) + (run is not None) + (text is not None) != 1:
        raise UserError("say what to draw, one thing: words, a text with --text, or a run with --run DIR")
    check_writable(out)
    if run is not None:
        plot_run(run, out)
        print(out)
        return
    import polylm

    loaded = polylm.load(model, device=device, granularity=granularity)
    if text is not None:
        plot_text(loaded, text, out)
    else:
        beside = None if single is None else polylm.load(single, device=device).lexicon
        plot_words(loaded.lexicon, words or [], out, single=beside, around=around)
    print(out)


def map_(
    out: Annotated[Path, typer.Option(help="The HTML file to write.")],
    model: ModelDir = None,
    n: Annotated[int, typer.Option("--n", min=4, help="How many senses: the commonest.")] = 4000,
) -> None:
    """Write one page with thousands of senses on a plane, to zoom, search and click; it needs no network."""
    import polylm
    from polylm.atomic import check_writable
    from polylm.explore.plot import sense_map

    check_writable(out)
    print(f"placing senses on a plane; for {n:,} of them that may take a minute or two", file=sys.stderr, flush=True)
    print(f"{out}: {sense_map(polylm.load(model, device='cpu').lexicon, out, n=n):,} senses")
