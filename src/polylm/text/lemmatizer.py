"""(word, Penn tag) to lemma and inflection marker, as in appendix B of the paper.

A word whose tag says it is inflected is read as two tokens, its lemma and a marker; every other word is read as it is,
in lower case. Lemmas come from lemminflect, a few suppletive comparatives from a table. Answers are remembered, since
lemminflect takes some 60 microseconds a word.
"""

import importlib
import importlib.util
import re
import sys
from functools import cache
from threading import Lock
from typing import Any

from polylm.errors import UserError

MARKERS = ("[PL]", "[PAST]", "[GER]", "[N3RD]", "[3RD]", "[PART]", "[COMP]", "[SUP]")

_SYMBOL = re.compile(r"\[[A-Z0-9]+\]")  # a marker, or [PAD] and its like: words are in lower case


def is_word(symbol: str) -> bool:
    """Whether a symbol of a vocabulary is a word: no marker, special symbol or punctuation."""
    return not _SYMBOL.fullmatch(symbol) and any(map(str.isalnum, symbol))


# Penn tag -> (marker, part of speech as lemminflect names it). Any other tag leaves the word whole.
INFLECTIONS = {
    "NNS": ("[PL]", "NOUN"),
    "VBD": ("[PAST]", "VERB"),
    "VBG": ("[GER]", "VERB"),
    "VBP": ("[N3RD]", "VERB"),
    "VBZ": ("[3RD]", "VERB"),
    "VBN": ("[PART]", "VERB"),
    "JJR": ("[COMP]", "ADJ"),
    "RBR": ("[COMP]", "ADV"),
    "JJS": ("[SUP]", "ADJ"),
    "RBS": ("[SUP]", "ADV"),
}

# Where lemminflect has none, or a worse one first: it reads more as much, and leaves as more than one leave.
_IRREGULAR = {
    **{(word, tag): word for word in ("more", "less") for tag in ("JJR", "RBR")},
    **{(word, tag): word for word in ("most", "least") for tag in ("JJS", "RBS")},
    ("better", "JJR"): "good", ("best", "JJS"): "good", ("better", "RBR"): "well", ("best", "RBS"): "well",
    ("worse", "JJR"): "bad", ("worst", "JJS"): "bad", ("worse", "RBR"): "badly", ("worst", "RBS"): "badly",
    ("later", "RBR"): "late", ("leaves", "NNS"): "leaf", ("calories", "NNS"): "calorie", ("selfies", "NNS"): "selfie",
    ("oxen", "NNS"): "ox",
}  # fmt: skip


class Lemmatizer:
    """Callable: `lemmatizer("banks", "NNS")` is `("bank", "[PL]")`, `lemmatizer("The", "DT")` is `("the", None)`."""

    def __init__(self, max_remembered: int = 500_000) -> None:
        self._lemmas: dict[tuple[str, str], str] = dict(_IRREGULAR)
        self._max_remembered = max_remembered
        self._lemminflect = _lemminflect()[0]

    def __call__(self, word: str, tag: str) -> tuple[str, str | None]:
        """The lemma, and the marker if the tag is one of an inflection."""
        word = word.lower()
        inflection = INFLECTIONS.get(tag)
        if inflection is None or not word.isalpha():
            return word, None
        marker, pos = inflection
        lemma = self._lemmas.get((word, tag))
        if lemma is None:
            if len(self._lemmas) >= self._max_remembered:
                self._lemmas = dict(_IRREGULAR)
            lemma = self._lemmas[word, tag] = self._look_up(word, tag, pos)
        return lemma, marker

    def _look_up(self, word: str, tag: str, pos: str) -> str:
        candidates = self._lemminflect.getLemma(word, pos)
        if tag == "VBP" and word in candidates:  # they lay, they found: not the past of lie and find
            return word
        lemma: str = candidates[0] if candidates and candidates[0].isalpha() else word
        if tag == "NNS" and lemma == word and word.endswith("men") and len(word) > 5:  # Englishmen
            return word[:-2] + "an"
        return lemma


_HISSING = re.compile(r"(s|x|z|ch|sh|o)$")  # whose plural has an e
_POS = {"n": "NOUN", "v": "VERB", "j": "ADJ", "a": "ADJ", "r": "ADV"}


# Of Penn tags, by their first two letters, the part of speech as lemminflect names it.
_SPEECH = {"NN": "NOUN", "VB": "VERB", "JJ": "ADJ", "RB": "ADV"}
_COMPARED = {"JJR": "more", "RBR": "more", "JJS": "most", "RBS": "most"}
_FORMS = {  # before a dictionary is asked
    ("many", "JJR"): "more", ("many", "JJS"): "most", ("little", "JJR"): "less", ("little", "JJS"): "least",
    ("be", "VBP"): "are", ("blue", "JJR"): "bluer", ("blue", "JJS"): "bluest",
}  # fmt: skip
# Words that dictionaries of nouns, verbs, adjectives and adverbs leave out.
_CLOSED = frozenset(
    """a an and another anybody anyone anything are as at because but by de each either every everybody everyone
    everything for from he hello her hers him his how i if in into is it its itself la le me mine my neither nobody nor
    of on onto or other our ours oh others per she since than that the their theirs them these they this those though to
    unless until upon us versus via was we were what whatever when where whereas whether which while who whoever whom
    whose why with within without would yes you your yours""".split()  # noqa: SIM905
)


def can_have(lemma: str, tag: str) -> bool:
    """Whether a lemma has the part of speech of a Penn tag. Of a word that no dictionary has, only that of a noun."""
    pos = _SPEECH.get(tag[:2])
    if pos is None or tag.startswith("NNP") or (lemma, tag) in _IRREGULAR:
        return True
    known = _lemminflect()[1].getAllInflections(lemma)
    if not known:
        return pos == "NOUN" and lemma[0].isalnum() and lemma not in _CLOSED
    return any(_SPEECH.get(other[:2]) == pos for other in known)


def inflected(lemma: str, tag: str) -> str:
    """The form of a lemma that a Penn tag asks for: ran, of run and VBD; more expensive, of expensive and JJR."""
    if tag not in INFLECTIONS or _IRREGULAR.get((lemma, tag)) == lemma:
        return lemma
    if (lemma, tag) in _FORMS:
        return _FORMS[lemma, tag]
    for (form, of_tag), known in _IRREGULAR.items():
        if (known, of_tag) == (lemma, tag):
            return form
    forms = _lemminflect()[1].getInflection(lemma, tag, inflect_oov=False)
    if not forms and tag in _COMPARED:
        return f"{_COMPARED[tag]} {lemma}"
    if not forms and tag == "NNS" and lemma.endswith("man") and len(lemma) > 5:
        return f"{lemma[:-2]}en"
    forms = forms or _lemminflect()[1].getInflection(lemma, tag)
    return str(forms[0]) if forms else lemma


def lemmas_of(word: str, pos: str) -> tuple[str, ...]:
    """Every lemma that a form may have as a noun (n), verb (v), adjective (j or a) or adverb (r)."""
    if pos not in _POS:
        return ()
    found: tuple[str, ...] = _lemminflect()[0].getAllLemmas(word.lower(), _POS[pos]).get(_POS[pos], ())
    return found


def forms_of(lemma: str) -> tuple[str, ...]:
    """A lemma and every form that it may have in a text, those that `Lemmatizer` reads by rules of its own included."""
    own = [word for (word, _), known in _IRREGULAR.items() if known == lemma]
    if lemma.endswith("man") and len(lemma) > 5:
        own.append(f"{lemma[:-2]}en")
    inflections: dict[str, tuple[str, ...]] = _lemminflect()[1].getAllInflections(lemma)
    regular = _lemminflect()[1].getAllInflectionsOOV(lemma, "NOUN") if not inflections else {}
    regularly = (form for forms in (*inflections.values(), *regular.values()) for form in forms)
    return tuple(dict.fromkeys((lemma, *own, *regularly)))


def regular_forms(word: str) -> set[str]:
    """The plural that a noun would have, and the singular that a plural would have; at once, without a dictionary."""
    forms = {f"{word}s"}
    if word.endswith("s"):
        forms.add(word[:-1])
    if _HISSING.search(word):
        forms.add(f"{word}es")
    if word.endswith("es") and _HISSING.search(word[:-2]):
        forms.add(word[:-2])
    if word.endswith("y"):
        forms.add(f"{word[:-1]}ies")
    if word.endswith("ies"):
        forms.add(f"{word[:-3]}y")
    return forms


def own_forms(word: str) -> set[str]:
    """A word in all forms, also those that it would have as a regular noun: what says nothing of it."""
    return {*forms_of(word), *regular_forms(word)}


_LOADING = Lock()


@cache
def _lemminflect() -> tuple[Any, Any]:
    """lemminflect's two classes without its `__init__`, which would load spaCy, some seconds, to hook itself in."""
    with _LOADING:
        stand_in = "lemminflect" not in sys.modules
        if stand_in:
            spec = importlib.util.find_spec("lemminflect")
            if spec is None:
                raise UserError("lemminflect is not installed: pip install lemminflect")
            sys.modules["lemminflect"] = importlib.util.module_from_spec(spec)
        try:
            lemmatizer, inflections = (
                importlib.import_module(f"lemminflect.core.{name}") for name in ("Lemmatizer", "Inflections")
            )
        finally:
            if stand_in:  # whoever imports lemminflect later has it whole
                sys.modules.pop("lemminflect", None)
        return lemmatizer.Lemmatizer(), inflections.Inflections()
