"""Which synset of WordNet is a sense? A guess, with a confidence.

Of each synset of a word we take the words about it: its other members, those of the synsets it points to, the words of
its gloss and examples. A sense is close to a synset as far as its vector is close to theirs, each word with whichever
of its senses is nearest, beyond what all senses of its word have in common. Its substitutes say which part of speech it
has, and may be about the synset themselves. The model also reads the synset's gloss and examples: which sense does it
take the word for there? WordNet's earlier synsets are favoured. The confidence is a softmax of these scores, less where
WordNet does not know the substitutes: names of firms and bands are not in it.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from polylm.explore.tagging import Tagger
from polylm.reading.layers import DISAMBIGUATION
from polylm.text.lemmatizer import forms_of, lemmas_of
from polylm.wordnet import SS_TYPE, WordNet

# Chosen on half of SemCor's words.
APART, CLASS, SUBSTITUTE, SPEECH, READ, EARLIER, SHARPNESS = 2.0, 3.0, 0.2, 1.0, 0.1, 0.3, 6.0
_WEIGHTS = {  # of words about a synset, by the pointer that leads to them
    "@": 0.7, "@i": 0.7, "~": 0.4, "&": 0.7, "^": 0.5, "+": 0.5, "$": 0.5, "*": 0.5, ">": 0.3, "<": 0.5, "=": 0.5,
    "\\": 0.5, "!": 0.3, ";c": 0.5, "%p": 0.3, "#p": 0.3, "%m": 0.3, "#m": 0.3,
}  # fmt: skip
_GLOSS, _EXAMPLE = 0.25, 0.15
_HYPONYMS = 25  # of a synset, whose words count
_READ_SYNSETS, _READ_EXAMPLES = 8, 2  # of a word and part of speech, and of a synset, that are read
_SMALL_WORDS = frozenset(
    """the a an of in to and or for with by on at from as that which is are be been being was were not it its one who
    whose what when where how than then into used usually especially something someone some any other having have has
    made make this these those your you they their he his her him she i we our so such very can may using etc more most
    no""".split()  # noqa: SIM905
)


@dataclass(frozen=True)
class Link:
    """The synset that a sense seems to be, and how sure that is."""

    synset: str  # 09213565-n of WordNet 3.0
    key: str  # bank%1:17:01::
    gloss: str
    confidence: float


class Linker:
    """Finds the likeliest synset of each sense."""

    def __init__(self, tagger: Tagger, wordnet: WordNet) -> None:
        self.tagger, self.vectors, self.wordnet = tagger, tagger.lexicon.vectors, wordnet
        self.rows = self.vectors.rows_of_word
        self._lemma = lru_cache(1 << 16)(self._lemma_in_model)
        self._speech = lru_cache(1 << 16)(self._parts_of_speech)

    def links(self, word: str, groups: Sequence[Sequence[str]]) -> list[Link | None]:
        """One link for each group of senses of a word that are one; none where WordNet has no word for it."""
        return self.many([(word, groups)])[0]

    def many(self, words: Sequence[tuple[str, Sequence[Sequence[str]]]]) -> list[list[Link | None]]:
        """The same for many words, whose glosses are read together."""
        candidates = [self.wordnet.of_word(word) for word, _ in words]
        read = self._read([(word, synsets) for (word, _), synsets in zip(words, candidates, strict=True)])
        links_of_words: list[list[Link | None]] = []
        for (word, groups), synsets, glosses in zip(words, candidates, read, strict=True):
            if not synsets:
                links_of_words.append([None] * len(groups))
                continue
            chances = self._chances(word, groups, synsets, glosses)
            links: list[Link | None] = []
            for chance in chances:
                if not chance.any():  # WordNet knows nothing that could stand for it: a name
                    links.append(None)
                    continue
                best = int(chance.argmax())
                key, synset = synsets[best]
                links.append(Link(synset, key, self.wordnet.synsets[synset].gloss, round(float(chance[best]), 4)))
            links_of_words.append(links)
        return links_of_words

    def _chances(
        self,
        word: str,
        groups: Sequence[Sequence[str]],
        candidates: Sequence[tuple[str, str]],
        glosses: NDArray[np.float32],
    ) -> NDArray[np.float32]:
        """(groups, candidates) how probable each synset is for each sense."""
        vectors = self.vectors
        place = {vectors.keys[row]: i for i, row in enumerate(self.rows[word])}
        heads = [place[group[0]] for group in groups]
        about = [self.words_about(synset, word) for _, synset in candidates]
        close, apart = self._closeness(word, about)
        rank, pos = _ranks([key for key, _ in candidates])
        of_class = np.zeros_like(close)  # nouns among the neighbours speak for all nouns
        for one in set(pos):
            of_this = np.array([other == one for other in pos])
            of_class[:, of_this] = np.sort(close[:, of_this], axis=1)[:, -3:].mean(axis=1, keepdims=True)
        scores = (APART * apart + CLASS * of_class)[heads] - EARLIER * np.log(rank)
        named, speech, in_wordnet = self._by_substitutes(groups, about, pos)
        scores += SUBSTITUTE * named + SPEECH * speech
        if len(groups) > 1:
            member = np.zeros((len(groups), len(place)), dtype=np.float32)
            for i, group in enumerate(groups):
                member[i, [place[key] for key in group]] = 1
            share = member @ vectors.shares[self.rows[word]]
            meant = member @ glosses.T  # (groups, candidates)
            known = glosses.sum(axis=1) > 0
            scores[:, known] += READ * np.log((meant[:, known] + 0.03) / (share[:, None] + 0.03))
        scores = np.exp(SHARPNESS * (scores - scores.max(axis=1, keepdims=True)))
        scores *= in_wordnet[:, None] / scores.sum(axis=1, keepdims=True)
        chances: NDArray[np.float32] = scores.astype(np.float32)
        return chances

    def _by_substitutes(
        self, groups: Sequence[Sequence[str]], about: Sequence[dict[str, float]], classes: Sequence[str]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
        """(groups, synsets) how far the substitutes of a sense are words about a synset, and have its part of speech.

        And (groups,) how many of them WordNet knows.
        """
        named = np.zeros((len(groups), len(about)), dtype=np.float32)
        speech, known = np.zeros_like(named), np.ones(len(groups), dtype=np.float32)
        for i, group in enumerate(groups):
            others = self.tagger.lexicon.substitutes_of(*group)  # closeness is that of the first of them alone
            shares = [self._speech(other) for other in others]
            for rank, (other, share) in enumerate(zip(others, shares, strict=True)):
                named[i] += [words.get(other, 0.0) / (rank + 2) for words in about]
                speech[i] += [share.get(one, 0.0) / len(others) for one in classes]
            if others:
                known[i] = sum(map(bool, shares)) / len(others)
        return named, speech, known

    def _parts_of_speech(self, word: str) -> dict[str, float]:
        """Which share of a word's synsets are nouns, and so on."""
        _, classes = _ranks([key for key, _ in self.wordnet.of_word(word)])
        return {one: classes.count(one) / len(classes) for one in set(classes)}

    def _closeness(
        self, word: str, about: Sequence[dict[str, float]]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """(senses, synsets) the cosines to words about a synset, and what they are above the mean of all senses."""
        words = sorted({other for weights_of in about for other in weights_of})
        if not words:
            return (np.zeros((len(self.rows[word]), len(about)), dtype=np.float32),) * 2
        vectors = self.vectors.vectors
        others = [self.rows[other] for other in words]
        first = np.cumsum([0, *map(len, others[:-1])])
        cosines = vectors[self.rows[word]] @ vectors[np.concatenate(others)].T
        nearest = np.maximum.reduceat(cosines, first, axis=1)  # (senses, words)
        weights = np.array([[weights_of.get(other, 0.0) for other in words] for weights_of in about], dtype=np.float32)
        weights /= np.maximum(weights.sum(axis=1, keepdims=True), 1.0)
        return nearest @ weights.T, (nearest - nearest.mean(axis=0)) @ weights.T

    def words_about(self, synset: str, word: str) -> dict[str, float]:
        """The words about a synset that the model knows, and how much each counts."""
        weights: dict[str, float] = {}

        def add(name: str, weight: float) -> None:
            whole = name in self.rows
            for part in [name] if whole else re.split(r"[_\- ]", name):
                lemma = self._lemma(part)
                if lemma and lemma != word and lemma not in _SMALL_WORDS and not lemma.isdigit():
                    weights[lemma] = max(weights.get(lemma, 0.0), weight if whole else weight / 2)

        meaning = self.wordnet.synsets[synset]
        for name in meaning.words:
            add(name, 1.0)
        hyponyms = 0
        for symbol, other in meaning.pointers:
            hyponyms += symbol.startswith("~")
            if symbol in _WEIGHTS and (not symbol.startswith("~") or hyponyms <= _HYPONYMS):
                for name in self.wordnet.synsets[other].words[:4]:
                    add(name, _WEIGHTS[symbol])
        for text, weight in ((meaning.gloss, _GLOSS), *((example, _EXAMPLE) for example in meaning.examples)):
            for name in re.findall(r"[a-z]+", text.lower()):
                add(name, weight)
        return weights

    def _lemma_in_model(self, word: str) -> str | None:
        if word in self.rows:
            return word
        return next((lemma for pos in "nvjr" for lemma in lemmas_of(word, pos) if lemma in self.rows), None)

    def _read(self, words: Sequence[tuple[str, Sequence[tuple[str, str]]]]) -> list[NDArray[np.float32]]:
        """(candidates, senses) what the model takes a word for in the examples and glosses of each of its synsets."""
        texts: list[list[str]] = []
        whose: list[tuple[int, int, int, float]] = []  # word, candidate, place in the text, weight
        read = [np.zeros((len(synsets), len(self.rows[word])), dtype=np.float32) for word, synsets in words]
        for number, (word, synsets) in enumerate(words):
            if len(self.rows[word]) == 1:
                continue
            forms = set(forms_of(word))
            ranks, _ = _ranks([key for key, _ in synsets])
            for candidate, (_, synset) in enumerate(synsets):
                if ranks[candidate] > _READ_SYNSETS:
                    continue
                for example in self.wordnet.synsets[synset].examples[:_READ_EXAMPLES]:
                    tokens = _TOKEN.findall(example)
                    at = next((i for i, token in enumerate(tokens) if token.lower() in forms), None)
                    if at is not None:
                        texts.append(tokens)
                        whose.append((number, candidate, at, 2.0))
                texts.append([word, ":", *_TOKEN.findall(self.wordnet.synsets[synset].gloss)])
                whose.append((number, candidate, 0, 1.0))
        tagged = self.tagger.tag_many_tokens(texts, read_out=DISAMBIGUATION, granularity=1.0)
        for (number, candidate, at, weight), tokens in zip(whose, tagged, strict=True):
            word = words[number][0]
            place = {self.vectors.keys[row]: i for i, row in enumerate(self.rows[word])}
            for key, probability in tokens[at].distribution.items() if tokens[at].lemma == word else ():
                read[number][candidate, place[key]] += weight * probability
        return [table / np.maximum(table.sum(axis=1, keepdims=True), 1e-9) for table in read]


_TOKEN = re.compile(r"\w+|[^\w\s]")


def _ranks(keys: Sequence[str]) -> tuple[NDArray[np.float32], list[str]]:
    """The number of each candidate among those of its part of speech, and that part."""
    seen: dict[str, int] = defaultdict(int)
    ranks, classes = [], []
    for key in keys:
        pos = SS_TYPE[key.partition("%")[2][0]]
        seen[pos] += 1
        ranks.append(seen[pos])
        classes.append(pos)
    return np.array(ranks, dtype=np.float32), classes
