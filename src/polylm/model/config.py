"""ModelConfig: everything about a model's shape and losses, with a name for each size."""

from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, Self

from polylm.errors import UserError


@dataclass(frozen=True)
class ModelConfig:
    """Shapes, and which losses. `ModelConfig.base()` is the paper's BASE; keyword arguments change single fields."""

    d_model: int = 256
    d_filter: int = 1024
    n_heads: int = 4  # the paper has 8, which are half as wide and take the GPU longer
    n_layers_d: int = 4  # of the disambiguation contextualizer C^D
    n_layers_p: int = 12  # of the prediction contextualizer C^P
    max_length: int = 128
    contextualizer: str = "transformer"
    dropout: float | None = None  # what the contextualizer is used with: 0.1 for bert, as in the paper, else 0
    rotary_base: float = 1000.0
    # The paper's ablations: without C^D the prediction layer reads the conflated x(w); without J_D senses may blur.
    disambiguation: bool = True
    distinctness: bool = True
    # J_D and J_M are means over the targets with several senses (the authors' later code), or over all (the paper).
    normalisation: Literal["polysemous", "targets"] = "polysemous"

    reads_unmasked: bool = False  # whether J_R was trained; training sets it

    def __post_init__(self) -> None:
        for name in ("d_model", "d_filter", "n_heads", "n_layers_d", "n_layers_p", "max_length"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise UserError(f"{name} is {value!r}: it must be a whole number, 1 or more")
        for name in ("disambiguation", "distinctness", "reads_unmasked"):
            if not isinstance(getattr(self, name), bool):
                raise UserError(f"{name} is {getattr(self, name)!r}: it must be true or false")
        if not isinstance(self.contextualizer, str):
            raise UserError(f"contextualizer is {self.contextualizer!r}: it must be a name")
        if not isinstance(self.rotary_base, int | float) or not self.rotary_base > 1:
            raise UserError(f"rotary_base is {self.rotary_base!r}: it must be a number above 1")
        if self.d_model % (2 * self.n_heads):
            raise UserError(f"d_model {self.d_model} must be an even multiple of n_heads {self.n_heads}")
        if self.dropout is not None and not (isinstance(self.dropout, int | float) and 0 <= self.dropout < 1):
            raise UserError(f"dropout is {self.dropout!r}: it must be at least 0 and below 1")
        if self.normalisation not in ("polysemous", "targets"):
            raise UserError(f"normalisation is {self.normalisation!r}: choose 'polysemous' or 'targets'")

    @classmethod
    def tiny(cls, **changes: Any) -> Self:
        """For laptops and tests: d 64, 1 + 2 layers."""
        return cls(**{"d_model": 64, "d_filter": 256, "n_heads": 2, "n_layers_d": 1, "n_layers_p": 2, **changes})

    @classmethod
    def small(cls, **changes: Any) -> Self:
        """The paper's SMALL: d 128, 4 + 8 layers."""
        return cls(**{"d_model": 128, "d_filter": 512, "n_heads": 2, "n_layers_d": 4, "n_layers_p": 8, **changes})

    @classmethod
    def base(cls, **changes: Any) -> Self:
        """The paper's BASE: d 256, 4 + 12 layers."""
        return cls(**changes)

    @classmethod
    def large(cls, **changes: Any) -> Self:
        """The authors' later LARGE: d 384, 4 + 12 layers."""
        return cls(**{"d_model": 384, "d_filter": 1536, "n_heads": 6, "n_layers_d": 4, "n_layers_p": 12, **changes})

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """The way back; a field that this version does not know is refused."""
        if not isinstance(values, dict):
            raise UserError("the configuration of the model is not a table of fields")
        unknown = set(values) - {field.name for field in fields(cls)}
        if unknown:
            raise UserError(
                f"the configuration has fields that this version of polylm does not know: {sorted(unknown)}"
            )
        return cls(**values)
