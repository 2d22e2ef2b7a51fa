"""docs/architecture.md says what stands: every file, who may import whom, and how large things may be."""

import ast
import re
from pathlib import Path

import pytest

from polylm import _HOMES as HOMES

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "polylm"
FILES = sorted(SOURCE.rglob("*.py"))
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def section(title):
    return re.search(rf"## {title}\n(.*?)\n## ", PAGE, re.DOTALL)[1]


ALLOWED = {
    name: {name, *others.split()}
    for name, others in re.findall(r"^    (\w+) *(.*)$", section("Who may import whom"), re.MULTILINE)
}


def layer(module):
    """base, text, corpus, … of polylm.text.pipeline or polylm.errors."""
    first = module.split(".")[1] if "." in module else ""
    return first if first in ALLOWED and first != "base" else "base"


def name_of(path):
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def imported(source, module):
    """Every module of ours that the source imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):  # polylm alone is all that it offers
            found |= {"polylm.explore.model" if alias.name == "polylm" else alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(module.split(".")[: -node.level]) if node.level else ""
            origin = ".".join(part for part in (base, node.module or "") if part)
            for alias in node.names:
                one = f"{origin}.{alias.name}"
                found |= {HOMES.get(alias.name, one)} if origin == "polylm" else {one, origin}
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and re.fullmatch(r"polylm(\.\w+)+", node.value)
        ):
            found.add(node.value)
    return {name for name in found if name.split(".")[0] == "polylm"}


def forbidden(source, module):
    """What the rules do not allow of it."""
    mine = layer(module)
    wrong = {name for name in imported(source, module) if layer(name) not in ALLOWED[mine]}
    if mine == "explore" and module != "polylm.explore.model":
        wrong |= {name for name in imported(source, module) if name.startswith("polylm.explore.model")}
    return wrong


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_imports_follow_the_table(path):
    if name_of(path) == "polylm":  # the public names are loaded when they are first used
        return
    if path.name == "__main__.py":
        assert imported(path.read_text(), "polylm.__main__") == {"polylm.cli", "polylm.cli.main"}
        return
    assert not forbidden(path.read_text(encoding="utf-8"), name_of(path))


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("polylm.model.polylm", "from polylm.text.pipeline import TextPipeline"),
        ("polylm.model.polylm", "def f():\n    import polylm.senses.keys"),
        ("polylm.reading.reader", "if TYPE_CHECKING:\n    from polylm.explore.model import Model"),
        ("polylm.reading.reader", "from polylm import explore"),
        ("polylm.reading.reader", "from ..explore import model"),
        ("polylm.explore.plot", "from polylm.explore.model import Model"),
        ("polylm.training.trainer", 'import_module("polylm.evaluation.run")'),
        ("polylm.errors", "import polylm.text.tokenizer"),
        ("polylm.evaluation.run", "import polylm"),
        ("polylm.evaluation.run", "from polylm import load"),
    ],
)
def test_a_forbidden_import_is_found(module, source):
    assert forbidden(source, module)


def test_the_page_lists_every_file():
    tree = section("Where things are")
    listed, folder = set(), ""
    for line in tree.splitlines():
        if match := re.match(r"      (\w+)/(?: |$)", line):
            folder = match[1] + "/"
        elif match := re.match(r"      (\w+\.py)\b", line):
            listed.add(match[1])
        elif match := re.match(r"        (\w+\.py)\b", line):
            listed.add(folder + match[1])
    there = {path.relative_to(SOURCE).as_posix() for path in FILES}
    assert listed == {name for name in there if not name.endswith("/__init__.py")} - {"__main__.py"}


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_files_and_classes_are_small(path):
    source = path.read_text(encoding="utf-8")
    assert len(source.splitlines()) <= 400
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef):
            names = {getattr(one, "name", None) for one in node.body}
            names |= {one.target.id for one in node.body if isinstance(one, ast.AnnAssign)}
            names |= {name.id for one in node.body if isinstance(one, ast.Assign) for name in one.targets}
            assert len({name for name in names if name and not name.startswith("_")}) <= 25, node.name


def test_names_of_files_have_one_home():
    """What a folder holds is written out once."""
    for name in ("vocabulary.tsv", "text.json", "model.safetensors", "config.json", "senses.npz", "training.json"):
        homes = [
            path.name
            for path in FILES
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.Constant) and node.value == name
        ]
        assert len(homes) == 1, (name, homes)
