"""The command line: one function a command. It parses, calls and prints; what is done stands elsewhere."""

import errno
import io
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from polylm import __version__
from polylm.errors import UserError
from polylm.show import print_examples, print_json, print_result, print_summary, print_table, print_tree, probability

if TYPE_CHECKING:
    from polylm.explore.examples import Example
    from polylm.explore.model import Model

_UsageError: Any = typer.BadParameter.__bases__[0]  # click's own, or that of the click inside typer

app = typer.Typer(
    name="polylm",
    help="Word senses learned by language modelling.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Surface = Annotated[bool, typer.Option("--surface", help="Read words as they stand: no tags, no lemmas, any language.")]
TaggerName = Annotated[
    Literal["english", "spacy"], typer.Option(help="The package's own tagger, or spaCy's (slower; polylm[spacy]).")
]
ModelDir = Annotated[Path | None, typer.Option("--model", help="The folder of a model.")]
Source = Annotated[
    Literal["both", "prediction", "disambiguation"],
    typer.Option(help="Read senses from the masked word, from the text as it is, or from both."),
]


def _dial(value: float | None) -> float | None:
    """Looked at before the model is loaded."""
    if value is not None and not 0 <= value <= 1:
        raise UserError(f"a granularity of {value:g} is not between 0 and 1")
    return value


Granularity = Annotated[
    float | None,
    typer.Option(callback=_dial, help="1 keeps every sense apart, less merges those that are confused."),
]
Corpus = Annotated[
    Path | None, typer.Option(help="Text, a file or a folder, plain or compressed: show clear sentences from it.")
]
DeviceName = Annotated[Literal["auto", "cpu", "cuda"], typer.Option("--device", help="Where the network runs.")]
Markdown = Annotated[bool, typer.Option("--markdown", help="Print the table as Markdown.")]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line. A user's mistake ends in one sentence and status 2."""
    if sys.stdout is None:  # closed by whoever started us
        sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # whatever the text holds, printing it never fails
    try:
        sys.exit(app(arguments, standalone_mode=False))
    except UserError as error:
        _fail(str(error), 2)
    except typer.Abort:
        sys.exit(130)
    except _UsageError as error:  # a wrong option or value: one sentence too
        message = error.format_message().replace("Value error, ", "")
        if "Usage:" in message:  # no command was given: this is the help
            print(message, file=sys.stderr)
            sys.exit(2)
        where = f" ({error.ctx.command_path} --help)" if error.ctx is not None else ""
        _fail(f"{message.rstrip('.')}{where}", 2)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # so that closing the output is quiet too
        sys.exit(141)
    except OSError as error:
        where = error.filename or ("the output cannot be written" if error.errno == errno.ENOSPC else "")
        _fail(f"{where}: {error.strerror}" if where else str(error), 2)


def _fail(message: str, status: int) -> None:
    print(f"polylm: {message}", file=sys.stderr)
    sys.exit(status)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"polylm {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


@app.command()
def analyze(
    text: Annotated[str, typer.Argument(help="A text, a file, or - for standard input.", metavar="TEXT|FILE|-")],
    surface: Surface = False,
    tagger: TaggerName = "english",
    as_json: Json = False,
) -> None:
    """Show what the model reads: the words of a text with their offsets, Penn tags, lemmas and inflection markers."""
    from polylm.text.lines import lines_of
    from polylm.text.pipeline import TextPipeline, TextSettings

    text = "\n".join(lines_of(text))
    words = TextPipeline(settings=TextSettings(lemmatize=not surface, tagger=tagger)).analyze(text)
    if as_json:
        print_json({"text": text, "tokens": [asdict(word) for word in words]})
        return
    columns = ("text", "start", "end", "tag", "lemma", "marker")
    rows = [["" if value is None else str(value) for value in asdict(word).values()] for word in words]
    print_table(columns, rows, numbers=("start", "end"))


@app.command()
def tag(
    text: Annotated[str, typer.Argument(help="A text, a file, or - for standard input.", metavar="TEXT|FILE|-")],
    model: ModelDir = None,
    source: Source = "both",
    granularity: Granularity = None,
    kind: Annotated[
        Literal["text", "conllu"] | None,
        typer.Option(
            "--format",
            help="Plain text, or CoNLL-U, whose words are kept, but not its tags and lemmas; by default by the name.",
        ),
    ] = None,
    paragraphs: Annotated[
        bool,
        typer.Option("--paragraphs", help="Read lines together up to an empty one: for text with hard line breaks."),
    ] = False,
    at_once: Annotated[
        bool, typer.Option("--at-once", help="Answer each line when it is there: for pipes that wait; slower.")
    ] = False,
    device: DeviceName = "auto",
    as_json: Json = False,
) -> None:
    """Give every word of a text its sense: a table on a terminal, a JSON object a line in a pipe."""
    import polylm
    from polylm.text.lines import joined_paragraphs, lines_of

    watched = sys.stderr.isatty() and not sys.stdout.isatty()
    lines = lines_of(text, bar=watched)  # before the model: a wrong path shows at once
    if kind is None:
        kind = "conllu" if text.endswith((".conllu", ".conll")) else "text"
    if kind == "conllu" and as_json:
        raise UserError("CoNLL-U is written as CoNLL-U: leave --json away")
    if kind == "conllu" and (paragraphs or at_once):
        raise UserError("CoNLL-U has sentences: --paragraphs and --at-once are for plain text")
    loaded = polylm.load(model, device=device, granularity=granularity)
    if kind == "conllu":
        from polylm.text.conllu import sentences, with_senses

        name = "standard input" if text == "-" else text
        for sentence, tokens in loaded.tag_with(sentences(lines, name), lambda one: one.words, source=source):
            sys.stdout.write(with_senses(sentence, [(token.sense, token.probability) for token in tokens]))
        return
    if paragraphs:
        lines = joined_paragraphs(lines)
    table = sys.stdout.isatty() and not as_json
    tagged = loaded.tag_lines(lines, source=source)
    if at_once:
        tagged = ((line, loaded.tag(line, source=source)) for line in lines)
    for line, tokens in tagged:
        labels = loaded.labels([token.sense for token in tokens])  # saved with the English model: a look-up
        if table:
            rows = [
                [token.text, token.lemma, token.sense or "", probability(token.probability), label]
                for token, label in zip(tokens, labels, strict=True)
            ]
            print_table(("text", "lemma", "sense", "p", "like"), rows, numbers=("p",))
        else:
            described = [{**token.to_dict(), "label": label} for token, label in zip(tokens, labels, strict=True)]
            print_json({"text": line, "tokens": described})
        if at_once:
            sys.stdout.flush()


@app.command()
def senses(
    word: Annotated[str, typer.Argument(help="A word; or a sense of it: bank#2.")],
    model: ModelDir = None,
    granularity: Granularity = None,
    topn: Annotated[int, typer.Option(min=1, help="Neighbours of each sense.")] = 8,
    tree: Annotated[bool, typer.Option("--tree", help="Draw how the senses merge as the granularity falls.")] = False,
    as_is: Annotated[bool, typer.Option("--as-is", help="A form such as dogs has its own senses, not dog's.")] = False,
    corpus: Corpus = None,
    n: Annotated[int, typer.Option("--examples", min=1, help="Example sentences of each sense, with --corpus.")] = 3,
    device: DeviceName = "auto",
    as_json: Json = False,
) -> None:
    """Show the senses of a word: how common each is, its substitutes, and the nearest senses of other words."""
    import polylm

    if corpus is not None:
        from polylm.corpus.sources import find_sources

        find_sources([corpus])  # before the model: a wrong path shows at once
    loaded = polylm.load(model, device=device, granularity=granularity)
    form, key = loaded.split_key(word)
    itself = loaded.lemma_of(form)
    word = itself if as_is or key is not None else loaded.usual(form)
    if word != itself:
        print(f"{form} is read as {word}; for {itself} itself: polylm senses {itself} --as-is", file=sys.stderr)
    if tree:
        if key is not None:
            raise UserError(f"the tree is that of a word: polylm senses {word} --tree")
        if as_json:
            print_json(loaded.tree(word).to_dict())
        else:
            print_tree(loaded, word)
        return
    found = [sense for sense in loaded.senses(word, topn=topn) if key is None or key in sense.members]
    examples = _examples(loaded, corpus, [word], n)
    if as_json:
        print_json(
            [{**sense.to_dict(), "examples": [e.to_dict() for e in examples.get(sense.key, [])]} for sense in found]
            if corpus is not None
            else [sense.to_dict() for sense in found]
        )
        return
    rows = [
        [
            sense.key,
            f"{sense.share:.0%}",
            ", ".join(sense.substitutes),
            ", ".join(key for key, _ in sense.neighbours),
            " ".join(sense.members[1:]),
        ]
        for sense in found
    ]
    columns = ("sense", "share", "could be replaced by", "nearest senses", "merged with it")
    print_table(columns, rows, numbers=("share",))
    if corpus is not None:
        print_examples([sense.key for sense in found], examples)
    sys.stdout.flush()  # the rest takes half a second
    others = [other for other in loaded.other_readings(form) if other != word]
    if others:
        print(f"{form} may also be a form of {', '.join(others)}: polylm senses {others[0]}", file=sys.stderr)


def _examples(model: "Model", corpus: Path | None, words: Sequence[str] | None, n: int) -> "dict[str, list[Example]]":
    """Sentences of a text collection, with a bar."""
    if corpus is None:
        return {}
    from polylm.explore.examples import find_examples
    from polylm.progress import Bar

    with Bar() as bar:
        return find_examples(model, [corpus], words=words, n=n, report=bar.counter("sentences"))


@app.command()
def similar(
    key: Annotated[str, typer.Argument(help="A sense: bank#3.", metavar="WORD#K")],
    model: ModelDir = None,
    topn: Annotated[int, typer.Option(min=1, help="How many.")] = 10,
    as_json: Json = False,
) -> None:
    """Show the nearest senses of other words."""
    import polylm

    found = polylm.load(model, device="cpu").most_similar(key, topn)
    if as_json:
        print_json([{"key": other, "cosine": round(cosine, 4)} for other, cosine in found])
    else:
        print_table(("sense", "cosine"), [[other, f"{cosine:.3f}"] for other, cosine in found], numbers=("cosine",))


@app.command()
def substitutes(
    text: Annotated[str, typer.Argument(help="A text with one word in brackets.", metavar='"a [focus] in text"')],
    model: ModelDir = None,
    topn: Annotated[int, typer.Option(min=1, help="How many.")] = 10,
    as_json: Json = False,
) -> None:
    """Show words that could stand for the one in brackets, in the sense that it has there."""
    import polylm

    found = polylm.load(model, device="cpu").substitutes(text, topn)
    if as_json:
        print_json([{"word": word, "share": share} for word, share in found])
    else:
        print_table(("word", "share"), [[word, f"{share:.1%}"] for word, share in found], numbers=("share",))


@app.command()
def lexicon(
    out: Annotated[Path, typer.Option(help="The file to write: .jsonl, or .ttl for OntoLex-Lemon in Turtle.")],
    words: Annotated[list[str] | None, typer.Argument(help="Words; all of the model if none.", metavar="WORD")] = None,
    model: ModelDir = None,
    granularity: Granularity = None,
    topn: Annotated[int, typer.Option(min=1, help="Neighbours of each sense.")] = 8,
    wordnet: Annotated[
        Path | None, typer.Option(help="WordNet 3.0, a folder or an archive: link each sense to its likeliest synset.")
    ] = None,
    corpus: Corpus = None,
    n: Annotated[int, typer.Option("--examples", min=1, help="Example sentences of each sense, with --corpus.")] = 3,
    language: Annotated[str, typer.Option(help="What Turtle says the words are: a tag such as en or de.")] = "en",
    device: DeviceName = "auto",
) -> None:
    """Write the senses as a lexical resource: shares, substitutes, neighbours, examples, links to WordNet."""
    import polylm
    from polylm.atomic import check_writable
    from polylm.corpus.sources import find_sources
    from polylm.explore.lexicon import entries, format_of, write
    from polylm.progress import Bar
    from polylm.wordnet import WordNet

    format_of(out)
    check_writable(out)
    if corpus is not None:
        find_sources([corpus])
    known = None if wordnet is None else WordNet(wordnet)
    loaded = polylm.load(model, device=device, granularity=granularity)
    words = _usual(loaded, words) if words else None
    examples = _examples(loaded, corpus, words, n)
    with Bar() as bar:
        found = entries(loaded, words=words, topn=topn, wordnet=known, examples=examples, report=bar.counter("entries"))
        print(f"{out}: {write(out, found, language=language):,} entries")


def _usual(model: "Model", words: list[str]) -> list[str]:
    """The words of the model that these mostly stand for; all that are none are named at once."""
    found, said = [], []
    for word in words:
        try:
            found.append(model.usual(word))
        except UserError as error:
            said.append(str(error))
    if said:
        raise UserError("; ".join(said))
    return found


@app.command()
def info(
    folder: Annotated[
        Path | None, typer.Argument(help="The folder of a model; the bundled one if none.", metavar="[MODEL]")
    ] = None,
    model: ModelDir = None,
    as_json: Json = False,
) -> None:
    """Say what a model is: its size, its granularity, and its card."""
    import polylm

    loaded = polylm.load(folder or model, device="cpu")
    facts = loaded.facts()
    if as_json:
        print_json(facts)
        return
    print_table(
        ("", ""), [[name.replace("_", " "), f"{v:,}" if isinstance(v, int) else str(v)] for name, v in facts.items()]
    )
    card = Path(str(facts["folder"])) / "README.md"
    if card.exists():
        print(f"\n{card.read_text(encoding='utf-8').strip()}")


@app.command("serve")
def serve_page(
    model: ModelDir = None,
    host: Annotated[str, typer.Option(help="The address to listen on; by default this machine alone.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="The port to listen on.")] = 8765,
    granularity: Granularity = None,
    device: DeviceName = "auto",
) -> None:
    """Open a page to type text into and look at its senses; /openapi.json describes the JSON interface."""
    import polylm

    try:
        from polylm.serve.app import check_port, serve, warm_up
    except ImportError:
        raise UserError("serving needs fastapi and uvicorn: pip install 'polylm[serve]'") from None
    address = check_port(host, port)
    loaded = polylm.load(model, device=device, granularity=granularity)
    warm_up(loaded)
    print(f"{address} — Ctrl-C to stop", flush=True)
    serve(loaded, host, port)


export = typer.Typer(help="Write senses for other programs.", no_args_is_help=True)
app.add_typer(export, name="export")


@export.command("word2vec")
def export_word2vec(
    path: Annotated[Path, typer.Argument(help="The file to write; .bin for the binary form.")],
    model: ModelDir = None,
) -> None:
    """Write all sense vectors as a word2vec file, which gensim opens."""
    import polylm
    from polylm.atomic import check_writable
    from polylm.explore.export import word2vec

    check_writable(path)
    vectors = polylm.load(model, device="cpu").vectors
    word2vec(vectors, path)
    print(f"{path}: {len(vectors):,} senses")


@export.command("onnx")
def export_onnx(
    path: Annotated[Path, typer.Argument(help="The file to write; what its numbers mean is written beside it.")],
    model: ModelDir = None,
) -> None:
    """Write the network as ONNX: the same senses under onnxruntime, without torch."""
    import polylm
    from polylm.atomic import check_writable
    from polylm.explore.export import onnx

    check_writable(path)
    beside = onnx(polylm.load(model, device="cpu"), path)
    print(f"{path}: words, masked -> q_d, q_p; {beside}: words and senses")


@app.command()
def prepare(
    files: Annotated[
        list[Path],
        typer.Argument(help="Text, .gz, .bz2, .xz, .zst or .bz3 files, or folders of them.", metavar="FILE..."),
    ],
    out: Annotated[Path, typer.Option(help="The folder to write.")],
    workers: Annotated[int | None, typer.Option(help="Processes; by default one a core.")] = None,
    engine: Annotated[Literal["local", "ray"], typer.Option(help="This machine, or a Ray cluster.")] = "local",
    min_count: Annotated[str, typer.Option(help="Least count of a word: N, or N/M a million words.")] = "0.17/M",
    poly_count: Annotated[str, typer.Option(help="Least count of a word of several senses: N or N/M.")] = "6.7/M",
    senses: Annotated[int, typer.Option(help="Senses of a word that has several.")] = 8,
    senses_file: Annotated[Path | None, typer.Option(help="Numbers of senses: word<TAB>n a line.")] = None,
    focus: Annotated[Path | None, typer.Option(help="Words, one a line, always in and with several senses.")] = None,
    max_words: Annotated[int | None, typer.Option(help="Keep at most so many words.")] = None,
    surface: Surface = False,
    tagger: TaggerName = "english",
    errors: Annotated[
        Literal["strict", "replace"], typer.Option(help="Refuse bytes that are not UTF-8 text, or replace them.")
    ] = "strict",
    as_json: Json = False,
) -> None:
    """Turn raw text into training data. An interrupted run goes on when the same command is given again."""
    from polylm.corpus.engine import local
    from polylm.corpus.prepare import PrepareSettings, prepare
    from polylm.corpus.vocabulary import Threshold, VocabularySettings, read_focus, read_n_senses
    from polylm.progress import Bar
    from polylm.text.pipeline import TextSettings

    settings = PrepareSettings(
        text=TextSettings(lemmatize=not surface, tagger=tagger),
        vocabulary=VocabularySettings(
            min_count=Threshold.parse(min_count, floor=5),
            poly_count=Threshold.parse(poly_count, floor=200),
            senses=senses,
            max_words=max_words,
            focus=read_focus(focus) if focus else (),
            n_senses=read_n_senses(senses_file) if senses_file else None,
        ),
        errors=errors,
    )
    if engine == "ray":
        from polylm.integrations.ray import ray_engine

        chosen = ray_engine(workers)
    else:
        chosen = local(workers)
    try:
        with Bar() as bar:
            manifest = prepare(files, out, settings, engine=chosen, report=bar)
    except KeyboardInterrupt:
        _fail("stopped; the same command goes on from here", 130)
    if as_json:
        print_json(manifest)
    else:
        print_summary(out, manifest)


@app.command()
def train(
    data: Annotated[Path, typer.Argument(help="A folder made by polylm prepare.")],
    out: Annotated[Path, typer.Option(help="The folder of the run, and of the model at its end.")],
    size: Annotated[
        Literal["tiny", "small", "base", "large"] | None, typer.Option(help="How large a model; base if nothing else.")
    ] = None,
    budget: Annotated[str | None, typer.Option(help="Time to train for: 25m, 90s, 1h30m.")] = None,
    steps: Annotated[int | None, typer.Option(help="Or a number of steps.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run, if there is one.")] = False,
    init: Annotated[Path | None, typer.Option(help="Go on from this model instead of from nothing.")] = None,
    config: Annotated[Path | None, typer.Option(help="JSON with settings of the run and the model.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="One setting: name=value; may be repeated.", metavar="NAME=VALUE")
    ] = None,
    learning_rate: Annotated[float | None, typer.Option(help="The highest learning rate.")] = None,
    batch_tokens: Annotated[int | None, typer.Option(help="Tokens a step, over all devices.")] = None,
    seed: Annotated[int | None, typer.Option(help="Another seed gives another model.")] = None,
    checkpoint_every: Annotated[str | None, typer.Option(help="Time between checkpoints: 5m.")] = None,
    watch: Annotated[str, typer.Option(help="Words whose senses are shown now and then: bank,rock.")] = "",
    evaluate_on: Annotated[
        Path | None, typer.Option("--evaluate", help="A file as for `polylm eval jsonl`, scored now and then.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Visit every branch in seconds, keep nothing.")] = False,
    device: DeviceName = "auto",
    as_json: Json = False,
) -> None:
    """Train a model. A run that was killed goes on with --resume; torchrun -m polylm train … uses several devices."""
    from polylm.evaluation import run
    from polylm.training import launch
    from polylm.training.folder import FINISHED
    from polylm.training.signals import Stopped

    if resume and not dry_run and (out / FINISHED).is_file() and os.environ.get("RANK", "0") == "0":
        print(f"{out} is finished: to train it further, name another folder, and --init {out}", file=sys.stderr)
    given = {"learning_rate": learning_rate, "batch_tokens": batch_tokens, "seed": seed}
    evaluate = run.in_training(evaluate_on, data) if evaluate_on is not None else None
    try:
        summary = launch.train(
            data,
            out,
            size=size,
            budget=budget,
            steps=steps,
            resume=resume,
            init=init,
            config=config,
            settings=settings or [],
            flags={name: value for name, value in given.items() if value is not None},
            checkpoint_every=checkpoint_every,
            watch=tuple(word.strip() for word in watch.split(",") if word.strip()),
            evaluate=evaluate,
            dry_run=dry_run,
            device=device,
        )
    except Stopped as stopped:
        _fail(str(stopped), 128 + stopped.number)
    if as_json:
        print_json(summary)
    elif summary:
        print(
            f"{out}: {summary['steps']:,} steps, {summary['tokens']:,} tokens in {summary['seconds']:,.0f} s; "
            f"held-out NLL {summary['held_out']:.3f}, {summary['effective_senses']:.2f} effective senses"
        )


bench = typer.Typer(help="Measure how fast things are on this machine.", no_args_is_help=True)
app.add_typer(bench, name="bench")


@bench.command("train")
def bench_train(
    data: Annotated[Path | None, typer.Argument(help="A prepared corpus; by default words drawn by lot.")] = None,
    size: Annotated[str, typer.Option(help="Which sizes: tiny,small,base,large.")] = "",
    seconds: Annotated[float, typer.Option(help="To measure each for.")] = 4.0,
    device: DeviceName = "auto",
    as_json: Json = False,
) -> None:
    """Measure a training step: tokens a second, memory, share of the arithmetic bound, beside a naive step."""
    import torch

    from polylm.device import choose_device
    from polylm.training.bench import COLUMNS, shown
    from polylm.training.bench import bench as measure
    from polylm.training.config import defaults_for

    kind = choose_device(device).type
    sizes = tuple(name.strip() for name in (size or ("base" if kind == "cuda" else "tiny")).split(","))
    for name in sizes:
        defaults_for(name, kind)
    rows = measure(data, sizes, device=kind, seconds=seconds)
    if as_json:
        print_json({"torch": torch.__version__, "rows": rows})
        return
    print_table(COLUMNS, shown(rows), numbers=COLUMNS[2:])


@bench.command("tag")
def bench_tag(
    text: Annotated[Path | None, typer.Argument(help="A text file; by default words drawn by lot.")] = None,
    model: ModelDir = None,
    seconds: Annotated[float, typer.Option(help="To measure each for.")] = 10.0,
    precision: Annotated[Literal["auto", "float32", "bfloat16"], typer.Option(help="What to compute in.")] = "auto",
    device: DeviceName = "auto",
    as_json: Json = False,
) -> None:
    """Measure tagging: loading, a sentence, a long text, memory; beside BERT-base where transformers is installed."""
    from polylm.explore.bench import bench as measure
    from polylm.explore.bench import shown

    result = measure(model, text, device=device, precision=precision, seconds=seconds)
    if as_json:
        print_json(result)
    else:
        print_table(("what", "figure"), shown(result), numbers=("figure",))


@app.command()
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
        beside = None if single is None else polylm.load(single, device=device)
        plot_words(loaded, _usual(loaded, words or []), out, single=beside, around=around)
    print(out)


@app.command("map")
def map_senses(
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
    print(f"{out}: {sense_map(polylm.load(model, device='cpu'), out, n=n):,} senses")


@app.command()
def score(
    task: Annotated[Literal["semeval2010", "semeval2013"], typer.Argument(help="Whose measures.")],
    key: Annotated[Path, typer.Argument(help="The answers of a system, in the official format.")],
    gold: Annotated[Path, typer.Argument(help="The gold key.")],
    as_json: Json = False,
    markdown: Markdown = False,
) -> None:
    """Score anybody's key file as the official scorers do."""
    from polylm.evaluation.keys import coverage, read_key
    from polylm.evaluation.report import score_table
    from polylm.evaluation.wsi import score as score_key

    gold_key, answers = read_key(gold), read_key(key)
    scores = score_key(task, answers, gold_key)
    if note := coverage(answers, gold_key):
        print(note, file=sys.stderr)
    if as_json:
        print_json(scores.to_dict())
    else:
        print_result(score_table(scores), markdown)


@app.command("eval")
def evaluate(
    dataset: Annotated[
        Literal["semeval2010", "semeval2013", "semeval2013-trial", "wic", "wsd", "jsonl"],
        typer.Argument(help="Which data set."),
    ],
    data: Annotated[Path, typer.Argument(help="Its folder; for jsonl your file.")],
    model: ModelDir = None,
    source: Source = "both",
    weight: Annotated[float, typer.Option(help="Of the masked word in `both`: (q^P)^w (q^D)^(1 - w).")] = 0.6,
    granularity: Granularity = None,
    out: Annotated[Path | None, typer.Option(help="Write the answers here, in the official format.")] = None,
    semcor: Annotated[Path | None, typer.Option(help="For wsd: SemCor; by default looked for beside DATA.")] = None,
    wordnet: Annotated[Path | None, typer.Option(help="For wsd: WordNet; by default looked for beside DATA.")] = None,
    device: DeviceName = "auto",
    as_json: Json = False,
    markdown: Markdown = False,
) -> None:
    """Evaluate a model on a test set, beside baselines and the paper's rows. `polylm data` says where to get them."""
    from polylm.atomic import check_writable
    from polylm.evaluation import run
    from polylm.progress import Bar

    if not 0 <= weight <= 1:
        raise UserError(f"--weight {weight} is not between 0 and 1")
    if out is not None:
        if dataset == "wic":
            raise UserError("WiC has no key files: leave --out away")
        check_writable(out)
    read = run.reader(dataset, data, semcor=semcor, wordnet=wordnet)  # before the model: a wrong path shows at once
    with Bar() as bar:
        result = run.evaluate(
            read,
            model,
            source=source,
            weight=weight,
            granularity=granularity,
            device=device,
            report=bar.counter("senses"),
            reading=bar.counter("text"),
        )
    if out is not None:
        result.write_key(out)
    if as_json:
        print_json(result.to_dict())
    else:
        print_result(result.table, markdown)
    if result.note:
        print(result.note, file=sys.stderr)


@app.command("data")
def list_data(
    name: Annotated[str | None, typer.Argument(help="Fetch this one.", metavar="[NAME]")] = None,
    out: Annotated[Path | None, typer.Option(help="The folder to put it in; by default its name.")] = None,
    as_json: Json = False,
) -> None:
    """List the test sets, their homes and licences; or fetch one whose licence allows it."""
    from polylm.evaluation.datasets import DATASETS, fetch
    from polylm.progress import Bar

    if name is None:
        if out is not None:
            raise UserError("say which data set to fetch: polylm data NAME --out FOLDER")
        if as_json:
            print_json([dataset.to_dict() for dataset in DATASETS.values()])
            return
        columns = ("name", "what it is", "licence", "home", "fetch")
        rows = [
            [item.name, item.title, item.licence, item.home, "polylm data" if item.url else "by hand"]
            for item in DATASETS.values()
        ]
        print_table(columns, rows)
        return
    if name not in DATASETS:
        raise UserError(f"there is no data set called {name!r}; choose from {', '.join(DATASETS)}")
    with Bar() as bar:
        folder = fetch(DATASETS[name], out or Path(name), report=bar.counter("fetching"))
    if as_json:
        print_json({"name": name, "folder": str(folder)})
    else:
        print(f"{folder}: {DATASETS[name].title}; {DATASETS[name].licence}")
