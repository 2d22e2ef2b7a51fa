"""Word senses learned by language modelling."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("polylm")
except PackageNotFoundError:  # run from a source tree that is not installed
    __version__ = "0+unknown"
