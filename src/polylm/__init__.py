"""Word senses learned by language modelling."""

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

try:
    __version__ = version("polylm")
except PackageNotFoundError:  # run from a source tree that is not installed
    __version__ = "0+unknown"

# Loaded when first used: reading text needs no torch.
_HOMES = {
    "Model": "polylm.explore.model",
    "ModelConfig": "polylm.model.config",
    "PolyLM": "polylm.model.polylm",
    "SenseInventory": "polylm.model.inventory",
    "TextPipeline": "polylm.text.pipeline",
    "load": "polylm.explore.model",
    "register_contextualizer": "polylm.model.contextualizer",
}
__all__ = [
    "Model",
    "ModelConfig",
    "PolyLM",
    "SenseInventory",
    "TextPipeline",
    "__version__",
    "load",
    "register_contextualizer",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'polylm' has no attribute {name!r}")
