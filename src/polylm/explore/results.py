"""What the command line and the server answer with: each result has one form in JSON, and it is made here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from polylm.explore.columns import TaggedToken
from polylm.explore.examples import Example
from polylm.senses.lexicon import Lexicon, Sense


@dataclass(frozen=True)
class TaggedText:
    """A text with its words, what the sense of each is like, and how many senses each word has."""

    text: str
    tokens: Sequence[TaggedToken]
    labels: Sequence[str]
    n_senses: Sequence[int]

    @classmethod
    def of(
        cls, text: str, tokens: Sequence[TaggedToken], lexicon: Lexicon, granularity: float | None = None
    ) -> "TaggedText":
        """With what a lexicon says of the senses that were found."""
        lemmas = {token.lemma for token in tokens if token.sense is not None}
        n_senses = {lemma: lexicon.n_senses(lemma, granularity=granularity) for lemma in lemmas}
        labels = lexicon.labels([token.sense for token in tokens], granularity=granularity)
        return cls(text, tokens, labels, [n_senses.get(token.lemma, 0) for token in tokens])

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        rows = zip(self.tokens, self.labels, self.n_senses, strict=True)
        tokens = [{**token.to_dict(), "label": label, "n_senses": n} for token, label, n in rows]
        return {"text": self.text, "tokens": tokens}


@dataclass(frozen=True)
class Senses:
    """Some senses, perhaps with sentences of each."""

    senses: Sequence[Sense]
    examples: Mapping[str, Sequence[Example]] | None = None

    def to_dict(self) -> list[dict[str, Any]]:
        """For JSON."""
        if self.examples is None:
            return [sense.to_dict() for sense in self.senses]
        sentences = {key: [example.to_dict() for example in own] for key, own in self.examples.items()}
        return [{**sense.to_dict(), "examples": sentences.get(sense.key, [])} for sense in self.senses]


def neighbours(found: Sequence[tuple[str, float]]) -> list[dict[str, Any]]:
    """Senses with their cosines, for JSON."""
    return [{"key": key, "cosine": round(cosine, 4)} for key, cosine in found]


def substitutes(found: Sequence[tuple[str, float]]) -> list[dict[str, Any]]:
    """Words with their shares, for JSON."""
    return [{"word": word, "share": share} for word, share in found]
