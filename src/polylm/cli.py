"""`polylm`: the commands together, and how their errors end. What a command does stands in `commands/`."""

import errno
import io
import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from polylm.commands import bench, evaluation, export, lexicon, pictures, prepare, senses, serve, text, train
from polylm.errors import UserError

_UsageError: Any = typer.BadParameter.__bases__[0]  # click's own, or that of the click inside typer

app = typer.Typer(
    name="polylm",
    help="Word senses learned by language modelling.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for command in (
    *(text.analyze, text.tag, senses.senses, senses.similar, senses.substitutes, lexicon.lexicon, senses.info),
    *(serve.serve, prepare.prepare, train.train, pictures.plot, pictures.map_, evaluation.score, evaluation.eval_),
    evaluation.data,
):
    app.command(command.__name__.rstrip("_"))(command)
app.add_typer(export.app, name="export")
app.add_typer(bench.app, name="bench")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line. A user's mistake ends in one sentence and status 2."""
    # Threads that spin while they wait take the time of whatever else runs here, and of our own text pipeline.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
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
        _fail(error.as_flags(), 2)
    except (typer.Abort, KeyboardInterrupt):
        _fail("stopped", 130)
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
        from polylm import __version__

        print(f"polylm {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass
