"""Word senses learned by language modelling."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

if _TYPE_CHECKING:
    from polylm.bundle.bundle import Bundle
    from polylm.errors import UserError
    from polylm.explore.columns import TaggedColumns, TaggedToken
    from polylm.explore.model import Model, load
    from polylm.model.config import ModelConfig
    from polylm.model.contextualizer import register_contextualizer
    from polylm.model.inventory import SenseInventory
    from polylm.model.polylm import PolyLM
    from polylm.reading.layers import ReadOut
    from polylm.senses.lexicon import Sense, Tree
    from polylm.senses.vectors import SenseVectors
    from polylm.text.pipeline import TextPipeline
    from polylm.text.settings import TextSettings
    from polylm.text.vocabulary import Vocabulary

    __version__: str

# Loaded when first used: reading text needs no torch.
_HOMES = {
    "Bundle": "polylm.bundle.bundle",
    "Model": "polylm.explore.model",
    "ModelConfig": "polylm.model.config",
    "PolyLM": "polylm.model.polylm",
    "ReadOut": "polylm.reading.layers",
    "Sense": "polylm.senses.lexicon",
    "SenseInventory": "polylm.model.inventory",
    "SenseVectors": "polylm.senses.vectors",
    "TaggedColumns": "polylm.explore.columns",
    "TaggedToken": "polylm.explore.columns",
    "TextPipeline": "polylm.text.pipeline",
    "TextSettings": "polylm.text.settings",
    "Tree": "polylm.senses.lexicon",
    "UserError": "polylm.errors",
    "Vocabulary": "polylm.text.vocabulary",
    "load": "polylm.explore.model",
    "register_contextualizer": "polylm.model.contextualizer",
}
__all__ = [
    "Bundle",
    "Model",
    "ModelConfig",
    "PolyLM",
    "ReadOut",
    "Sense",
    "SenseInventory",
    "SenseVectors",
    "TaggedColumns",
    "TaggedToken",
    "TextPipeline",
    "TextSettings",
    "Tree",
    "UserError",
    "Vocabulary",
    "__version__",
    "load",
    "register_contextualizer",
]

if not _TYPE_CHECKING:  # a type checker goes by the imports above, and finds misspelt names

    def __getattr__(name: str) -> _Any:
        if name == "__version__":
            return _version()
        if name in _HOMES:
            return getattr(_import_module(_HOMES[name]), name)
        raise AttributeError(f"module 'polylm' has no attribute {name!r}")


def _version() -> str:
    """Of the installed package; asking takes longer than all else here."""
    from importlib import metadata

    try:
        return metadata.version("polylm")
    except metadata.PackageNotFoundError:  # run from a source tree that is not installed
        return "0+unknown"


def __dir__() -> list[str]:
    return __all__
