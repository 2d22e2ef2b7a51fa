"""prepare: raw text to training data."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from polylm.commands.options import Json, Surface, TaggerName, stop
from polylm.commands.render import print_json
from polylm.errors import UserError


def prepare(
    files: Annotated[
        list[Path],
        typer.Argument(help="Text, .gz, .bz2, .xz, .zst or .bz3 files, or folders of them.", metavar="FILE..."),
    ],
    out: Annotated[Path, typer.Option(help="The folder to write.")],
    workers: Annotated[int | None, typer.Option(help="Number of processes; one per core by default.")] = None,
    engine: Annotated[Literal["local", "ray"], typer.Option(help="This machine, or a Ray cluster.")] = "local",
    min_count: Annotated[
        str | None, typer.Option(help="Minimum count of a word: N, or N/M for N per million words; 0.17/M by default.")
    ] = None,
    poly_count: Annotated[
        str | None, typer.Option(help="Minimum count of a word with several senses: N or N/M; 6.7/M by default.")
    ] = None,
    senses: Annotated[int | None, typer.Option(help="Senses of a word that has several; 8 by default.")] = None,
    senses_file: Annotated[Path | None, typer.Option(help="Numbers of senses: word<TAB>n a line.")] = None,
    focus: Annotated[Path | None, typer.Option(help="Words, one a line, always in and with several senses.")] = None,
    max_words: Annotated[int | None, typer.Option(help="Keep at most this many words.")] = None,
    vocabulary: Annotated[
        Path | None,
        typer.Option(help="Take the words of this model or corpus, to train the model further; read text as it does."),
    ] = None,
    surface: Surface = False,
    tagger: TaggerName = "english",
    errors: Annotated[
        Literal["strict", "replace"], typer.Option(help="Refuse bytes that are not UTF-8 text, or replace them.")
    ] = "strict",
    as_json: Json = False,
) -> None:
    """Turn raw text into training data. An interrupted run goes on when the same command is given again."""
    from polylm.commands.console import Bar
    from polylm.corpus.engine import local
    from polylm.corpus.prepare import PrepareSettings
    from polylm.corpus.prepare import prepare as run
    from polylm.corpus.selection import Threshold, VocabularySettings, read_focus_words, read_n_senses
    from polylm.text.settings import TextSettings

    others = (min_count, poly_count, senses, senses_file, focus, max_words)
    if vocabulary is not None and (surface or tagger != "english" or any(one is not None for one in others)):
        raise UserError(
            "{vocabulary} says which words there are, how many senses each has and how text is read: leave out the "
            "options for these",
            vocabulary=None,
        )
    usual = VocabularySettings()
    chosen_words = VocabularySettings(
        min_count=usual.min_count if min_count is None else Threshold.parse(min_count, usual.min_count.floor),
        poly_count=usual.poly_count
        if poly_count is None
        else Threshold.parse(poly_count, usual.poly_count.floor, "poly_count"),
        senses=usual.senses if senses is None else senses,
        max_words=max_words,
        focus=read_focus_words(focus) if focus else (),
        n_senses=read_n_senses(senses_file) if senses_file else None,
    )
    text = TextSettings(lemmatize=not surface, tagger=tagger)
    settings = PrepareSettings(text, chosen_words, errors)
    if vocabulary is not None:
        settings = PrepareSettings.of_folder(vocabulary, errors)
    if engine == "ray":
        from polylm.integrations.ray import ray_engine

        chosen = ray_engine(workers)
    else:
        chosen = local(workers)
    try:
        with Bar() as bar:
            manifest = run(files, out, settings, engine=chosen, report=bar)
    except KeyboardInterrupt:
        stop("stopped; the same command goes on from here", 130)
    if as_json:
        print_json(manifest)
    else:
        _print_summary(out, manifest)


def _print_summary(out: Path, manifest: dict[str, Any]) -> None:
    vocabulary = manifest["vocabulary"]
    print(f"{out}: {manifest['words']:,} words on {manifest['lines']:,} lines, {manifest['ids']:,} ids")
    print(
        f"vocabulary: {vocabulary['words']:,} words, {vocabulary['polysemous']:,} of them with several senses, "
        f"{vocabulary['senses']:,} senses; {manifest['unknown'] / manifest['words']:.2%} of the text is unknown words"
    )
    if not vocabulary["polysemous"] and manifest["settings"].get("senses", 1) > 1:
        print("no word is common enough to have several senses: give more text, a lower --poly-count, or --focus")
    missing = manifest["missing"]
    if missing:
        shown = ", ".join(missing[:10]) + (" …" if len(missing) > 10 else "")
        print(f"{len(missing)} words of the focus and senses files do not occur in the text: {shown}")
