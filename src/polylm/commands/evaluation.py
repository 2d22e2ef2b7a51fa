"""score, eval and data: how good are senses, and where are the test sets."""

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from polylm.commands.options import DeviceName, Granularity, Json, Markdown, ModelDir, ReadOutName, share
from polylm.commands.render import print_json, print_result, print_table
from polylm.errors import UserError


def score(
    task: Annotated[Literal["semeval2010", "semeval2013"], typer.Argument(help="Which task's measures to use.")],
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


def eval_(
    dataset: Annotated[
        Literal["semeval2010", "semeval2013", "semeval2013-trial", "semcor-wsi", "wic", "wsd", "jsonl"],
        typer.Argument(help="Which data set."),
    ],
    data: Annotated[Path, typer.Argument(help="Its folder; for jsonl your file.")],
    model: ModelDir = None,
    read_out: ReadOutName = "auto",
    weight: Annotated[
        float | None,
        typer.Option(callback=share, help="Read with `both`, (q^P)^w (q^D)^(1 - w), and this w.  [default: 0.6]"),
    ] = None,
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
    from polylm.commands.console import Bar
    from polylm.evaluation.run import Request, evaluate

    if weight is not None:
        if read_out not in ("auto", "both"):
            raise UserError("{weight} is for the read-out both alone", weight=None)
        read_out = "both"
    request = Request(dataset, data, semcor, wordnet)
    if out is not None:
        if not request.has_key:
            raise UserError("WiC has no key files: leave out --out")
        check_writable(out)
    task = request.read()  # before the model: a wrong path shows at once
    import polylm
    from polylm.evaluation.systems import PolyLMSystem

    loaded = polylm.load(model, device=device, granularity=granularity)
    with Bar() as bar:
        system = PolyLMSystem(
            loaded,
            read_out=polylm.ReadOut(read_out) if weight is None else polylm.ReadOut(read_out, weight),
            report=bar.counter("senses"),
            reading=bar.counter("text"),
        )
        result = evaluate(task, system, str(model or ""))
    if out is not None:
        result.write_key(out)
    if as_json:
        print_json(result.to_dict())
    else:
        print_result(result.table, markdown)
    if result.note:
        print(result.note, file=sys.stderr)


def data(
    name: Annotated[str | None, typer.Argument(help="Fetch this one.", metavar="[NAME]")] = None,
    out: Annotated[Path | None, typer.Option(help="The folder to put it in; by default its name.")] = None,
    as_json: Json = False,
) -> None:
    """List the test sets, their homes and licences; or fetch one whose licence allows it."""
    from polylm.commands.console import Bar
    from polylm.evaluation.datasets import DATASETS, fetch

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
