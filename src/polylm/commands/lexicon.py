"""lexicon: the senses as a file."""

from pathlib import Path
from typing import Annotated

import typer

from polylm.commands.options import Corpus, DeviceName, Granularity, ModelDir, Neighbours, NExamples
from polylm.commands.senses import check_corpus, examples_of
from polylm.errors import UserError
from polylm.senses.keys import word_of


def lexicon(
    out: Annotated[Path, typer.Option(help="The file to write: .jsonl, or .ttl for OntoLex-Lemon in Turtle.")],
    words: Annotated[list[str] | None, typer.Argument(help="Words; all of the model if none.", metavar="WORD")] = None,
    model: ModelDir = None,
    granularity: Granularity = None,
    topn: Neighbours = 8,
    wordnet: Annotated[
        Path | None, typer.Option(help="WordNet 3.0, a folder or an archive: link each sense to its likeliest synset.")
    ] = None,
    corpus: Corpus = None,
    n: NExamples = 3,
    language: Annotated[str, typer.Option(help="What Turtle says the words are: a tag such as en or de.")] = "en",
    device: DeviceName = "auto",
) -> None:
    """Write the senses as a lexical resource: labels, shares, substitutes, neighbours, examples, links to WordNet."""
    import polylm
    from polylm.atomic import check_writable
    from polylm.commands.console import Bar
    from polylm.explore.lexicon import entries, format_of, write
    from polylm.wordnet import WordNet

    format_of(out)
    check_writable(out)
    check_corpus(corpus)
    known = None if wordnet is None else WordNet(wordnet)
    loaded = polylm.load(model, device=device, granularity=granularity)
    resolved = loaded.lexicon.lookup.every(words or [])
    if key := next((one.key for one in resolved if one.key), None):
        raise UserError(f"a lexicon has whole words: name {word_of(key)} instead of {key}")
    wanted = [one.word for one in resolved] or None
    examples = examples_of(loaded, corpus, wanted, n)
    with Bar() as bar:
        written = entries(
            loaded,
            words=wanted,
            topn=topn,
            wordnet=known,
            examples=examples,
            as_is=True,
            report=bar.counter("entries"),
        )
        print(f"{out}: {write(out, written, language=language):,} entries")
