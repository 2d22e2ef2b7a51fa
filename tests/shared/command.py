"""`polylm` as a user starts it."""

import os
import pty
import subprocess
import sys


def polylm(*arguments, stdin=b"", env=None):
    command = [sys.executable, "-m", "polylm", *map(str, arguments)]
    return subprocess.run(command, input=stdin, capture_output=True, env={**os.environ, **(env or {})})


def sentence(result):
    """The error, which must be one line and no traceback, for a user's mistake."""
    errors = result.stderr.decode()
    assert result.returncode == 2, errors
    assert "Traceback" not in errors
    last = errors.splitlines()[-1]
    assert last.startswith("polylm: ")
    return last


def on_a_terminal(*arguments, columns=90, out=None):
    """What a person sees; of standard error, where the output goes to the file `out`."""
    parent, child = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": str(columns)}
    command = [sys.executable, "-m", "polylm", *map(str, arguments)]
    streams = {"stdout": child} if out is None else {"stdout": out, "stderr": child}
    with subprocess.Popen(command, **streams, env=environment) as process:
        os.close(child)
        shown = b""
        try:
            while part := os.read(parent, 4096):
                shown += part
        except OSError:  # the other side is closed
            pass
        os.close(parent)
    assert process.returncode == 0
    return shown
