"""senses, similar, substitutes and info: what a model knows of words, and what it is."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from polylm.commands.options import AsIs, Corpus, DeviceName, Granularity, Json, ModelDir, Neighbours, NExamples
from polylm.commands.render import print_examples, print_json, print_table, print_tree
from polylm.errors import UserError

if TYPE_CHECKING:
    from polylm.explore.examples import Example
    from polylm.explore.tagging import Tagger
    from polylm.senses.lookup import Resolved

Many = Annotated[int, typer.Option("--topn", min=1, help="How many.")]


def senses(
    word: Annotated[str, typer.Argument(help="A word; or a sense of it: bank#2.")],
    model: ModelDir = None,
    granularity: Granularity = None,
    topn: Neighbours = 8,
    tree: Annotated[bool, typer.Option("--tree", help="Draw how the senses merge as the granularity falls.")] = False,
    as_is: AsIs = False,
    corpus: Corpus = None,
    n: NExamples = 3,
    device: DeviceName = "auto",
    as_json: Json = False,
) -> None:
    """Show the senses of a word: how common each is, its substitutes, and the nearest senses of other words."""
    import polylm

    check_corpus(corpus)
    loaded = polylm.load(model, device=device, granularity=granularity)
    lexicon = loaded.lexicon
    resolved = lexicon.lookup(word, as_is=as_is)
    _say_lemma(resolved)
    if tree:
        if resolved.key is not None:
            raise UserError(f"the tree is that of a word: polylm senses {resolved.word} --tree")
        drawn = lexicon.tree(resolved.word, as_is=True)
        if as_json:
            print_json(drawn.to_dict())
        else:
            print_tree(drawn, resolved.word, lexicon.senses([resolved.word], granularity=1.0, topn=5, as_is=True)[0])
        return
    from polylm.explore.results import Senses

    (senses_of_word,) = lexicon.senses([resolved.key or resolved.word], topn=topn, as_is=True)
    examples = examples_of(loaded, corpus, [resolved.key or resolved.word], n)
    if as_json:
        print_json(Senses(senses_of_word, examples).to_dict())
        return
    rows = [
        [
            sense.key,
            f"{sense.share:.0%}",
            ", ".join(sense.substitutes),
            ", ".join(key for key, _ in sense.neighbours),
            " ".join(sense.members[1:]),
        ]
        for sense in senses_of_word
    ]
    columns = ("sense", "share", "could be replaced by", "nearest senses", "merged with it")
    print_table(columns, rows, numbers=("share",))
    if examples is not None:
        print_examples([sense.key for sense in senses_of_word], examples)
    sys.stdout.flush()  # the rest takes half a second
    others = lexicon.lookup.other_lemmas(resolved)
    if others:
        form = resolved.typed if resolved.key is None else resolved.word
        print(f"{form} may also be a form of {', '.join(others)}: polylm senses {others[0]}", file=sys.stderr)


def _say_lemma(resolved: "Resolved") -> None:
    if resolved.is_lemma_of_form:
        typed, form = resolved.typed, resolved.form
        print(f"{typed} is read as {resolved.word}; for {form} itself: polylm senses {form} --as-is", file=sys.stderr)


def check_corpus(corpus: Path | None) -> None:
    """Before the model: a wrong path shows at once."""
    if corpus is not None:
        from polylm.corpus.sources import find_sources

        find_sources([corpus])


def examples_of(
    tagger: "Tagger", corpus: Path | None, words: Sequence[str] | None, n: int
) -> "dict[str, list[Example]] | None":
    """Sentences of a text collection, with a bar."""
    if corpus is None:
        return None
    from polylm.commands.console import Bar
    from polylm.explore.examples import find_examples

    with Bar() as bar:
        return find_examples(tagger, [corpus], words=words, n=n, as_is=True, report=bar.counter("sentences"))


def similar(
    key: Annotated[str, typer.Argument(help="A sense: bank#3.", metavar="WORD#K")],
    model: ModelDir = None,
    granularity: Granularity = None,
    topn: Many = 10,
    as_json: Json = False,
) -> None:
    """Show the nearest senses of other words."""
    import polylm
    from polylm.explore.results import neighbours

    found = polylm.load(model, device="cpu").most_similar(key, topn, granularity=granularity)
    if as_json:
        print_json(neighbours(found))
    else:
        print_table(("sense", "cosine"), [[other, f"{cosine:.3f}"] for other, cosine in found], numbers=("cosine",))


def substitutes(
    text: Annotated[str, typer.Argument(help="A text with one word in brackets.", metavar='"a [focus] in text"')],
    model: ModelDir = None,
    topn: Many = 10,
    as_json: Json = False,
) -> None:
    """Show words that could stand for the one in brackets, in the sense that it has there."""
    import polylm
    from polylm.explore import results
    from polylm.reading.targets import marked

    loaded = polylm.load(model, device="cpu")
    found = loaded.substitutes(text, topn)
    if as_json:
        print_json(results.substitutes(found))
    else:
        print_table(("word", "share"), [[word, f"{share:.1%}"] for word, share in found], numbers=("share",))
    sys.stdout.flush()
    focus = marked(text)
    token = next(token for token in loaded.tag(focus.text) if token.start >= focus.start)
    if token.sense is None or token.probability is None:
        print(f"the model does not know {token.text!r}: this is what fits in its place", file=sys.stderr)
    elif label := loaded.label(token.sense):
        print(f"{token.text!r} was read as {token.sense} ({token.probability:.0%}): {label}", file=sys.stderr)


def info(
    folder: Annotated[
        Path | None, typer.Argument(help="The folder of a model; the bundled one if none.", metavar="[MODEL]")
    ] = None,
    model: ModelDir = None,
    as_json: Json = False,
) -> None:
    """Describe a model: its size, its granularity, and its card."""
    import polylm
    from polylm.bundle.bundle import CARD

    facts = polylm.load(folder or model, device="cpu").facts()
    if as_json:
        print_json(facts)
        return
    print_table(
        ("", ""), [[name.replace("_", " "), f"{v:,}" if isinstance(v, int) else str(v)] for name, v in facts.items()]
    )
    card = Path(str(facts["folder"])) / CARD
    if card.exists():
        print(f"\n{card.read_text(encoding='utf-8').strip()}")
