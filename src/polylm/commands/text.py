"""analyze and tag: a text, and what is read in it."""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from polylm.commands.inputs import input_lines, is_conllu, joined_paragraphs
from polylm.commands.options import (
    DeviceName,
    Granularity,
    Json,
    ModelDir,
    ReadOutName,
    Surface,
    TaggerName,
    Threads,
    use_threads,
)
from polylm.commands.render import print_json, print_table, probability
from polylm.corpus.engine import n_cores
from polylm.errors import UserError

if TYPE_CHECKING:
    from polylm.explore.results import TaggedText

TextArgument = Annotated[
    str,
    typer.Argument(help="A text, a file, a folder of files, or - for standard input.", metavar="TEXT|FILE|FOLDER|-"),
]


def analyze(
    text: TextArgument, surface: Surface = False, tagger: TaggerName = "english", as_json: Json = False
) -> None:
    """Show what the model reads: the words of a text with their offsets, Penn tags, lemmas and inflection markers."""
    from polylm.text.pipeline import TextPipeline
    from polylm.text.settings import TextSettings

    text = "\n".join(input_lines(text))
    words = TextPipeline(settings=TextSettings(lemmatize=not surface, tagger=tagger)).analyze(text)
    if as_json:
        print_json({"text": text, "tokens": [asdict(word) for word in words]})
        return
    columns = ("text", "start", "end", "tag", "lemma", "marker")
    rows = [["" if value is None else str(value) for value in asdict(word).values()] for word in words]
    print_table(columns, rows, numbers=("start", "end"))


def tag(
    text: TextArgument,
    model: ModelDir = None,
    read_out: ReadOutName = "auto",
    granularity: Granularity = None,
    kind: Annotated[
        Literal["text", "conllu"] | None,
        typer.Option(
            "--format",
            help="Plain text, or CoNLL-U (words are kept, tags and lemmas are not); by default, by the file name.",
        ),
    ] = None,
    paragraphs: Annotated[
        bool,
        typer.Option("--paragraphs", help="Read lines together up to an empty one: for text with hard line breaks."),
    ] = False,
    at_once: Annotated[
        bool, typer.Option("--at-once", help="Answer each line as soon as it arrives, for interactive pipes; slower.")
    ] = False,
    words: Annotated[
        str | None,
        typer.Option(help="Only these words, in whatever form: bank,cell. Lines without are left out."),
    ] = None,
    device: DeviceName = "auto",
    threads: Threads = None,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1, help="Processes that prepare text for the network: by default up to 8 with a GPU, none without."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Give every word of a text its sense: a table on a terminal, a JSON object a line in a pipe."""
    import polylm

    watched = sys.stderr.isatty() and not sys.stdout.isatty()
    if kind is None:
        kind = "conllu" if is_conllu(text) else "text"
    lines = input_lines(text, bar=watched, apart=paragraphs or kind == "conllu")  # a wrong path shows at once
    if kind == "conllu" and as_json:
        raise UserError("CoNLL-U is written as CoNLL-U: leave out --json")
    if kind == "conllu" and (paragraphs or at_once):
        raise UserError("CoNLL-U has sentences: --paragraphs and --at-once are for plain text")
    if at_once and workers is not None:
        raise UserError("a line that is answered at once is read by one process: leave out {workers}", workers=None)
    if kind == "conllu" and words is not None:
        raise UserError("CoNLL-U is written whole: leave out {words}", words=None)
    asked = None if words is None else [word.strip() for word in words.split(",") if word.strip()]
    if asked == []:
        raise UserError("no word was given: write bank,cell ({words})", words=None)
    use_threads(threads)
    loaded = polylm.load(model, device=device, granularity=granularity)
    if workers is None:
        workers = min(n_cores(), 8) if loaded.device.type == "cuda" else 1
    if kind == "conllu":
        name = "standard input" if text == "-" else text
        sys.stdout.writelines(_conllu(loaded, lines, name, read_out, workers))
        return
    if paragraphs:
        lines = joined_paragraphs(lines)
    show = _show_table if sys.stdout.isatty() and not as_json else _show_json
    found = False
    for tagged in _tagged(loaded, lines, read_out, asked, workers, at_once=at_once):
        if asked is None or tagged.tokens:
            found = True
            show(tagged)
        if at_once:
            sys.stdout.flush()
    if asked is not None and not found:
        print(f"the text has none of the words {', '.join(asked)}", file=sys.stderr)


def _tagged(
    model: Any, lines: Iterable[str], read_out: Any, words: list[str] | None, workers: int, *, at_once: bool
) -> "Iterator[TaggedText]":
    from polylm.explore.results import TaggedText
    from polylm.explore.tagging import beside

    tag_many = partial(model.tag_many, words=words, read_out=read_out, workers=1 if at_once else workers)
    tagged = ((line, next(tag_many([line]))) for line in lines) if at_once else beside(tag_many, lines, str)
    return (TaggedText.of(line, tokens, model.lexicon) for line, tokens in tagged)


def _conllu(model: Any, lines: Iterable[str], name: str, read_out: Any, workers: int) -> Iterator[str]:
    from polylm.explore.tagging import beside
    from polylm.text.conllu import sentences, with_senses

    tag = partial(model.tag_many_tokens, read_out=read_out, workers=workers)
    for sentence, tokens in beside(tag, sentences(lines, name), lambda one: one.words):
        yield with_senses(sentence, [(token.sense, token.probability) for token in tokens])


def _show_table(tagged: "TaggedText") -> None:
    rows = [
        [token.text, token.lemma, token.sense or "", probability(token.probability), label]
        for token, label in zip(tagged.tokens, tagged.labels, strict=True)
    ]
    print_table(("text", "lemma", "sense", "p", "like"), rows, numbers=("p",))


def _show_json(tagged: "TaggedText") -> None:
    print_json(tagged.to_dict())
