"""Word senses learned by language modelling."""

from importlib import import_module as _import_module
from importlib.metadata import PackageNotFoundError as _PackageNotFoundError
from importlib.metadata import version as _version
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

if _TYPE_CHECKING:
    from polylm.errors import UserError
    from polylm.explore.disambiguate import TaggedToken
    from polylm.explore.model import Model, Sense, load
    from polylm.model.config import ModelConfig
    from polylm.model.contextualizer import register_contextualizer
    from polylm.model.inventory import SenseInventory
    from polylm.model.polylm import PolyLM
    from polylm.text.pipeline import TextPipeline

try:
    __version__ = _version("polylm")
except _PackageNotFoundError:  # run from a source tree that is not installed
    __version__ = "0+unknown"

# Loaded when first used: reading text needs no torch.
_HOMES = {
    "Model": "polylm.explore.model",
    "ModelConfig": "polylm.model.config",
    "PolyLM": "polylm.model.polylm",
    "Sense": "polylm.explore.model",
    "SenseInventory": "polylm.model.inventory",
    "TaggedToken": "polylm.explore.disambiguate",
    "TextPipeline": "polylm.text.pipeline",
    "UserError": "polylm.errors",
    "load": "polylm.explore.model",
    "register_contextualizer": "polylm.model.contextualizer",
}
__all__ = [
    "Model",
    "ModelConfig",
    "PolyLM",
    "Sense",
    "SenseInventory",
    "TaggedToken",
    "TextPipeline",
    "UserError",
    "__version__",
    "load",
    "register_contextualizer",
]

if not _TYPE_CHECKING:  # a type checker goes by the imports above, and finds misspelt names

    def __getattr__(name: str) -> _Any:
        if name in _HOMES:
            return getattr(_import_module(_HOMES[name]), name)
        raise AttributeError(f"module 'polylm' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
