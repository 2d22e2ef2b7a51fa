"""ReadOut: which layers say what a word means. Needs Python alone: options are checked before torch is there."""

from dataclasses import dataclass, replace
from numbers import Real
from typing import TYPE_CHECKING, Literal, get_args

from polylm.errors import UserError

if TYPE_CHECKING:
    from polylm.model.polylm import PolyLM

Layers = Literal["auto", "reading", "both", "prediction", "disambiguation"]


@dataclass(frozen=True)
class ReadOut:
    """Which layers say what a word means.

    - `reading`: all layers, in one pass over the text as it is, if the network was taught it;
    - `both`: (q^P)^weight (q^D)^(1 - weight), normalised; q^P has words masked, every fourth at a time;
    - `prediction`: q^P alone;
    - `disambiguation`: q^D alone, of the first layers;
    - `auto`: `reading` where the network was taught it, otherwise `both`.
    """

    layers: Layers = "both"
    weight: float = 0.6

    def __post_init__(self) -> None:
        if self.layers not in get_args(Layers):
            raise UserError(f"there is no read-out {self.layers!r}: choose {', '.join(get_args(Layers))}")
        if isinstance(self.weight, bool) or not isinstance(self.weight, Real) or not 0 <= self.weight <= 1:
            raise UserError(f"a weight of {self.weight!r} is not between 0 and 1 ({{weight}})", weight=None)

    @classmethod
    def of(cls, value: "ReadOut | Layers") -> "ReadOut":
        """A name stands for the read-out of that name with its usual weight."""
        return value if isinstance(value, ReadOut) else cls(value)

    def of_network(self, network: "PolyLM") -> "ReadOut":
        """As far as a network has the layers: without a disambiguation layer both are one."""
        layers = self.layers
        if layers == "auto":
            layers = "reading" if network.config.reads_unmasked else "both"
        if layers == "reading" and not network.config.reads_unmasked:
            raise UserError(
                "this model was not taught to read words that are not masked: read it with {read_out}", read_out="both"
            )
        if network.c_d is not None or layers == "reading":
            return replace(self, layers=layers)
        if self.layers == "disambiguation":
            raise UserError("this model has no disambiguation layer: read it with {read_out}", read_out="prediction")
        return ReadOut("prediction")

    @staticmethod
    def names_of(network: "PolyLM") -> list[Layers]:
        """Those that a network has, its usual one first; without a disambiguation layer `both` is `prediction`."""
        first: list[Layers] = ["reading"] if network.config.reads_unmasked else []
        more: list[Layers] = ["prediction"] if network.c_d is None else ["both", "prediction", "disambiguation"]
        return first + more

    @property
    def needed(self) -> Layers:
        """The layers that are really asked: a weight of 1 or 0 leaves one of both out."""
        if self.layers == "both" and self.weight in (0, 1):
            return "prediction" if self.weight else "disambiguation"
        return self.layers


AUTO = ReadOut("auto")
BOTH = ReadOut("both")
DISAMBIGUATION = ReadOut("disambiguation")
