"""What commands print: tables for people on a terminal and for programs in a pipe, JSON, trees."""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from polylm.evaluation.report import Table
    from polylm.explore.examples import Example
    from polylm.senses.lexicon import Sense, Tree

SHORT = 24  # characters


def print_json(value: object) -> None:
    """One object, on one line."""
    sys.stdout.write(json.dumps(value, ensure_ascii=sys.stdout.encoding.lower() != "utf-8") + "\n")


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[str] = ()) -> None:
    """A table for people on a terminal; tab-separated lines in a pipe."""
    header = any(columns)
    if not sys.stdout.isatty():
        for row in (columns, *rows) if header else rows:
            print("\t".join(row))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold", show_header=header)
    shown = [i for i in range(len(columns)) if not rows or any(row[i] for row in rows)]  # what has something in it
    columns, rows = [columns[i] for i in shown], [[row[i] for i in shown] for row in rows]
    console = Console()
    widths = [max(map(len, (column, *(row[i] for row in rows)))) for i, column in enumerate(columns)]
    whole = [all(" " not in row[i] for row in rows) and widths[i] <= SHORT for i in range(len(columns))]
    needed = sum(width + 2 if is_whole else 12 for width, is_whole in zip(widths, whole, strict=True))
    for column, is_whole in zip(columns, whole, strict=True):  # keys and numbers are not broken where there is room
        justify: Literal["right", "left"] = "right" if column in numbers else "left"
        table.add_column(column, justify=justify, overflow="fold", no_wrap=is_whole and needed <= console.width)
    for row in rows:
        table.add_row(*map(Text, row))
    console.print(table)


def print_result(table: "Table", markdown: bool) -> None:
    """The table of an evaluation."""
    if markdown:
        print(table.to_markdown())
    else:
        print_table(table.columns, table.rows, numbers=table.columns[1:])


def print_tree(tree: "Tree", word: str, senses: "Sequence[Sense]") -> None:
    """How the senses of a word merge."""
    from rich.console import Console
    from rich.tree import Tree as Drawn

    from polylm.senses.keys import word_of

    by_key = {sense.key: sense for sense in senses}

    def grow(node: "Tree", onto: Drawn | None) -> Drawn:
        if node.key is not None:
            sense = by_key[node.key]
            like = sense.substitutes or [word_of(key) for key, _ in sense.neighbours]
            text = f"{node.key} {sense.share:.0%}  {', '.join(like)}"
        else:
            text = word if node.below is None else f"one below {node.below:.2f}"
        here = Drawn(text) if onto is None else onto.add(text)
        for branch in node.branches:
            grow(branch, here)
        return here

    width = None if sys.stdout.isatty() else 1000  # in a pipe nothing is cut off
    Console(highlight=False, markup=False, soft_wrap=True, width=width).print(grow(tree, None))


def print_examples(keys: Sequence[str], examples: "Mapping[str, Sequence[Example]]") -> None:
    """Sentences under each sense, the word in brackets."""
    for key in keys:
        print(f"\n{key}")
        for example in examples.get(key, []):
            text, start, end = example.text, example.start, example.end
            print(f"  {example.probability:.2f}  {text[:start]}[{text[start:end]}]{text[end:]}")
        if not examples.get(key):
            print("  no clear sentence was found")


def probability(value: float | None) -> str:
    """Two digits, or nothing."""
    return "" if value is None else f"{value:.2f}"
