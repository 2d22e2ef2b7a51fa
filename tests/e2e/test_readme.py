"""The README's commands and code run, and it says what they print."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.shared.command import on_a_terminal
from tests.shared.models import make_model
from tests.shared.texts import make_lines

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w*)\n(.*?)```", README, re.DOTALL)


SHELL = [
    line.split(" #")[0].strip() for language, code in BLOCKS if language == "sh" for line in code.splitlines() if line
]


@pytest.fixture
def folder(tmp_path):
    """Somewhere with the files that the README speaks of, and `polylm` on the path."""
    import gzip

    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.txt").write_text("\n".join(make_lines(100)))
    (tmp_path / "more.txt.gz").write_bytes(gzip.compress("\n".join(make_lines(50, seed=1)).encode()))
    (tmp_path / "all.key").write_text("bank.n 1 shore\nbank.n 2 money/4 shore/1\n")
    (tmp_path / "my.key").write_text("bank.n 1 c1\nbank.n 2 c1/0.6 c2/0.4\n")
    row = '{"left": "On the ", "focus": "bank", "right": ".", "lemma": "bank", "pos": "n", "sense": "1"}'
    (tmp_path / "mine.jsonl").write_text(f"{row}\n{row}\n")
    make_model().save_pretrained(tmp_path / "my-model")
    return tmp_path


@pytest.mark.slow
def test_polylm_commands(folder):
    found = [command for command in SHELL if re.search(r"\bpolylm [a-z]", command)]
    assert len(found) >= 3
    for shown in found:
        command = re.sub(r"\bpolylm (?=[a-z])", f"{sys.executable} -m polylm ", shown)
        result = subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True)
        assert result.returncode == 0, f"{command}: {result.stderr}"
    assert (folder / "corpus" / "manifest.json").exists()


@pytest.mark.slow
def test_python_code(folder):
    code = [block for language, block in BLOCKS if language == "python"]
    assert code
    for block in code:
        subprocess.run([sys.executable, "-c", block], cwd=folder, check=True, capture_output=True)


@pytest.mark.slow
def test_python_code_of_the_guides(folder):
    prepare = [sys.executable, "-m", "polylm", "prepare", "texts", "--out", "corpus"]
    subprocess.run(prepare, cwd=folder, check=True, capture_output=True)
    for guide in sorted((ROOT / "docs/guide").glob("*.md")):
        for block in re.findall(r"```python\n(.*?)```", guide.read_text(encoding="utf-8"), re.DOTALL):
            subprocess.run([sys.executable, "-c", block], cwd=folder, check=True, capture_output=True)


NUMBER = re.compile(r"\d+\.\d+")


def is_beginning(shown, printed):
    """But for the last digits of numbers, which differ between processors."""
    if not NUMBER.sub("0.0", printed).startswith(NUMBER.sub("0.0", shown)):
        return False
    numbers = list(map(float, NUMBER.findall(shown)))
    return list(map(float, NUMBER.findall(printed)))[: len(numbers)] == pytest.approx(numbers, abs=0.03, rel=0.02)


@pytest.mark.slow
def test_make_try_prints_what_the_readme_shows():
    """Every line that the README shows is printed, in that order; `...` stands for some that it leaves out."""
    makefile = (ROOT / "Makefile").read_text()
    commands = re.findall(r"\$\(BIN\)/polylm (.*)", makefile)
    assert [command.split()[0] for command in commands] == ["tag", "senses"]
    printed = [
        " ".join(line.split())
        for command in commands
        for line in re.sub(r"\x1b\[[\d;]*m", "", on_a_terminal(*shlex.split(command)).decode()).splitlines()
    ]
    shown = next(block for language, block in BLOCKS if block.startswith("text"))
    at = 0
    for line in shown.splitlines():
        wanted = " ".join(line.removesuffix("...").split())
        if wanted:
            found = [n for n, other in enumerate(printed[at:], at) if is_beginning(wanted, other)]
            assert found, f"{wanted!r} is not printed after line {at} of {printed}"
            at = found[0] + 1


CONSOLE = re.findall(r"```console\n\$ polylm (.*?)\n(.*?)```", (ROOT / "docs/guide/senses.md").read_text(), re.DOTALL)


@pytest.mark.slow
@pytest.mark.parametrize(("command", "shown"), CONSOLE)
def test_the_guide_shows_what_is_printed(command, shown):
    printed = on_a_terminal(*shlex.split(command), columns=100).decode().splitlines()
    printed = "\n".join(re.sub(r"\x1b\[[\d;]*m", "", line).rstrip() for line in printed)
    shown = shown.strip("\n")
    assert NUMBER.sub("0.0", printed) == NUMBER.sub("0.0", shown)
    assert is_beginning(shown, printed)


def test_the_guide_shows_something():
    assert len(CONSOLE) == 5


def test_make_has_the_two_commands():
    assert {"make try", "make test"} <= set(SHELL)


def test_installs_use_the_constraints():
    found = [command for command in SHELL if command.startswith("pip install")]
    assert found
    assert all("-c constraints.txt" in command for command in found)
