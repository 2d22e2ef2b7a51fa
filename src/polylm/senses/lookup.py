"""What people type, a form, a lemma or the name of a sense, to the word and the sense that are meant."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from polylm.errors import UnknownKeyError, UserError
from polylm.senses.index import SenseIndex
from polylm.senses.keys import is_key, word_of
from polylm.senses.vectors import suggestion
from polylm.text.lemmatizer import is_word, lemmas_of
from polylm.text.pipeline import TextPipeline

INFLECTED = re.compile(r".(s|ed|ing|en|er|est)$")  # how most forms end that have several senses and are no lemmas
MOSTLY = 10  # times as common is a lemma, so that its form means it


@dataclass(frozen=True)
class Resolved:
    """What was typed, and the word that it is taken for."""

    typed: str
    word: str  # mouse, for mice
    number: int  # of the word in the vocabulary
    key: str | None = None  # where a sense was named: bank#2
    form: str = ""  # the word of the model that is nearest to what was typed: mice

    @property
    def is_lemma_of_form(self) -> bool:
        """Whether a form was taken for its lemma although the model has the form too."""
        return self.word != self.form


class Lookup:
    """The one resolver: the library, the command line, the page and the integrations all ask it."""

    def __init__(self, index: SenseIndex, pipeline: TextPipeline) -> None:
        self.index, self.pipeline, self.vocabulary = index, pipeline, index.vocabulary

    def __call__(self, typed: str, *, as_is: bool = False) -> Resolved:
        """The word that is meant. `as_is`: a form that the model has stands for itself.

        Otherwise an inflected form stands for its lemma, dog for dogs, which is also part of a few names. A word of its
        own (left, saw) and a form that is not rare beside its lemma (states) stand for themselves; so does a word of
        several senses that does not end as most forms do (lost): to look it up takes half a second.
        """
        if not isinstance(typed, str):
            raise UserError(f"a word is a string, not {type(typed).__name__}")
        if is_key(typed) and typed not in self.vocabulary:  # C#7 may be a word
            row = self.index.row(typed)
            key = self.index.key(row)
            word = word_of(key)
            return Resolved(typed, word, self.vocabulary[word], key, word)
        number = self._nearest(typed)
        form = self.vocabulary.words[number]
        word = form if as_is else self._usual(typed, form, number)
        return Resolved(typed, word, self.vocabulary[word], None, form)

    def every(self, typed: Sequence[str], *, as_is: bool = False) -> list[Resolved]:
        """The same for several words; all that the model does not know are named at once."""
        resolved, complaints = [], []
        for one in typed:
            try:
                resolved.append(self(one, as_is=as_is))
            except UserError as error:
                complaints.append(str(error))
        if complaints:
            raise UnknownKeyError("; ".join(complaints))
        return resolved

    def other_lemmas(self, resolved: Resolved) -> list[str]:
        """Lemmas that a form may have beside the one it is taken for: leave, for leaves."""
        form = resolved.typed if resolved.key is None else resolved.word
        lemmas = dict.fromkeys(lemma for pos in "nvjr" for lemma in lemmas_of(form.lower(), pos))
        taken = (resolved.word, resolved.form)
        return [lemma for lemma in lemmas if lemma not in taken and self._is_word(self.vocabulary.get(lemma, 0))]

    def _usual(self, typed: str, form: str, number: int) -> str:
        if self.index.n_senses[number] > 1 and not INFLECTED.search(form):
            return form
        if any(form in lemmas_of(form, pos) for pos in "nvjr"):
            return form
        lemma = self.pipeline.analyze(typed)[0].lemma
        lemma_number, counts = self.vocabulary.get(lemma, 0), self.vocabulary.counts
        return lemma if self._is_word(lemma_number) and counts[lemma_number] >= MOSTLY * counts[number] else form

    def _nearest(self, typed: str) -> int:
        """The number of a word; of an inflected one that the model does not have, that of its lemma."""
        for form in (typed, typed.lower()):
            number = self.vocabulary.get(form)
            if number is not None and self._is_word(number):
                return number
        words = self.pipeline.analyze(typed)
        if len(words) == 1 and self._is_word(self.vocabulary.get(words[0].lemma, 0)):
            return self.vocabulary[words[0].lemma]
        several = [one.text for one in words if is_word(one.text)]
        if len(several) > 1:
            raise UserError(f"{typed!r} is read as {', '.join(several)}: ask for one word of them")
        known = suggestion(typed.lower(), self.index.words())
        raise UnknownKeyError(f"{typed!r} is not a word that the model knows{known}")

    def _is_word(self, number: int) -> bool:
        return self.index.is_word[number]
