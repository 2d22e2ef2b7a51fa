"""A component for spaCy: `nlp.add_pipe("polylm")`, and every token has `token._.sense` and `token._.senses`.

spaCy's tokens are taken as they are, but for white space; tags and lemmas are read by polylm's own pipeline, as in
training. spaCy imports this module in every program, so torch is imported when the component is made.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Literal

from spacy.language import Language
from spacy.tokens import Doc, Token

from polylm.reading.layers import Layers

if TYPE_CHECKING:
    from polylm.explore.model import Model

DEFAULTS = {"model": None, "read_out": "auto", "granularity": None, "device": "auto"}


@Language.factory("polylm", default_config=DEFAULTS, assigns=["token._.sense", "token._.senses"])
def make(
    nlp: Language,
    name: str,
    model: str | None,
    read_out: Layers,
    granularity: float | None,
    device: Literal["auto", "cpu", "cuda"],
) -> "SenseTagger":
    """`model` is the folder of a model; by default the English one."""
    from polylm.explore.model import load

    return SenseTagger(load(model, device=device, granularity=granularity), read_out=read_out)


class SenseTagger:
    """Sets `token._.sense` (a key such as bank#3, or None) and `token._.senses` (keys with their probabilities)."""

    def __init__(self, model: "Model", *, read_out: Layers = "auto") -> None:
        self.model: Model = model
        self.read_out: Layers = read_out
        for extension, default in (("sense", None), ("senses", {})):
            if not Token.has_extension(extension):
                Token.set_extension(extension, default=default)

    def __call__(self, doc: Doc) -> Doc:
        """One doc."""
        return next(self.pipe([doc]))

    def pipe(self, stream: Iterable[Doc], batch_size: int = 256) -> Iterator[Doc]:
        """Docs in batches, read together."""
        batch: list[Doc] = []
        for doc in stream:
            batch.append(doc)
            if len(batch) >= batch_size:
                yield from self._tag(batch)
                batch = []
        yield from self._tag(batch)

    def _tag(self, docs: list[Doc]) -> Iterator[Doc]:
        words = [[token for token in doc if not token.is_space] for doc in docs]
        texts = (
            ["_".join(token.text.split()) for token in tokens] for tokens in words
        )  # merged tokens may have spaces
        tagged = self.model.tag_many_tokens(texts, read_out=self.read_out)
        for doc, tokens, senses in zip(docs, words, tagged, strict=True):
            for token, one in zip(tokens, senses, strict=True):
                token._.sense, token._.senses = one.sense, one.distribution
            yield doc
