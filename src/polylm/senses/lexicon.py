"""Lexicon: the words of a model and their senses, for people: shares, neighbours, substitutes, labels, trees."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from polylm.errors import UserError
from polylm.model.polylm import PolyLM
from polylm.senses.geometry import common
from polylm.senses.index import SenseIndex
from polylm.senses.keys import word_of
from polylm.senses.labels import LENGTH, LISTED, contrasted, label_words
from polylm.senses.lookup import Lookup
from polylm.senses.merge_tree import MergeTree, checked_granularity
from polylm.senses.vectors import SenseVectors
from polylm.senses.wordlists import N_SUBSTITUTES, WordLists
from polylm.text.lemmatizer import regular_forms
from polylm.text.pipeline import TextPipeline
from polylm.text.vocabulary import Vocabulary

MEMBER = 0.05  # of the share of senses that are one, below which a member has no say in their neighbours
DEPTH = 20  # neighbours of each member that are looked at


@dataclass(frozen=True)
class Sense:
    """One sense of a word, at the granularity that was asked for."""

    key: str  # bank#3
    share: float  # of the word's occurrences in the training text
    neighbours: list[tuple[str, float]]  # the nearest senses of other words, and their cosines to the nearest member
    members: list[str]  # the senses that are one at this granularity, the commonest first; it gives the key
    substitutes: list[str] = field(default_factory=list)  # words it is most often interchangeable with

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Tree:
    """A sense, or senses that are one below a granularity; at the top perhaps some that never are."""

    key: str | None = None
    below: float | None = None
    branches: tuple["Tree", ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        if self.key is not None:
            return {"key": self.key}
        return {"below": self.below, "branches": [branch.to_dict() for branch in self.branches]}


class Lexicon:
    """What a model knows of words out of context. `granularity` holds where a call does not say otherwise."""

    def __init__(
        self,
        network: PolyLM,
        vocabulary: Vocabulary,
        pipeline: TextPipeline,
        *,
        merge_tree: MergeTree | None = None,
        wordlists: WordLists | None = None,
        granularity: float = 1.0,
    ) -> None:
        self.network, self.vocabulary, self.merge_tree = network, vocabulary, merge_tree
        self.index = SenseIndex(network, vocabulary, merge_tree)
        self.lookup = Lookup(self.index, pipeline)
        self.wordlists = wordlists or WordLists()
        self.granularity = granularity
        self._words_like: dict[str, list[str]] = {}  # of each sense by itself, of those that were asked for
        self._labels: tuple[float, dict[str, str]] = (-1.0, {})  # those at a granularity

    @property
    def granularity(self) -> float:
        """From 0, all senses that were ever confused as one, to 1, every sense apart. May be set."""
        return self._granularity

    @granularity.setter
    def granularity(self, granularity: float) -> None:
        self._granularity = checked_granularity(granularity, self.merge_tree)

    def at(self, granularity: float | None) -> float:
        """The granularity to use: the one given, or the lexicon's own."""
        return self._granularity if granularity is None else checked_granularity(granularity, self.merge_tree)

    def senses(
        self, words: Sequence[str], *, granularity: float | None = None, topn: int = 8, as_is: bool = False
    ) -> list[list[Sense]]:
        """The senses of each word, the commonest first; neighbours of all are looked for together.

        Of the name of a sense, bank#2, it alone. `as_is`: a form has senses of its own, not its lemma's.
        """
        several(words, "senses", "put a single word in a list")
        granularity = self.at(granularity)
        resolved = self.lookup.every(words, as_is=as_is)
        grouped = [
            [
                (group, share)
                for group, share in self.index.groups(one.number, granularity)
                if one.key is None or self.index.row(one.key) in group
            ]
            for one in resolved
        ]
        keys = [[self.index.key(row) for row in group] for groups in grouped for group, _ in groups]
        own = iter(zip(keys, self._near(keys, topn, granularity), strict=True))
        return [[self._sense(share, *next(own)) for _, share in groups] for groups in grouped]

    def _sense(self, share: float, keys: list[str], near: list[tuple[str, float]]) -> Sense:
        neighbours = [(key, round(cosine, 4)) for key, cosine in near]
        return Sense(keys[0], round(share, 4), neighbours, keys, self.substitutes_of(*keys))

    def _near(self, groups: Sequence[Sequence[str]], topn: int, granularity: float) -> list[list[tuple[str, float]]]:
        """The nearest senses of other words to each group of senses that are one, the nearest first.

        Those are chosen that are near to many members, or to a common one.
        """
        shares = [self._shares(group) for group in groups]
        used = [[n for n, share in enumerate(own) if n == 0 or share >= MEMBER * sum(own)] for own in shares]
        rows = [self.vectors.index(group[n]) for group, own in zip(groups, used, strict=True) for n in own]
        among = self.index.are_heads(granularity)
        depth = topn if len(rows) == len(groups) else max(topn, DEPTH)
        found = iter(self.vectors.nearest(rows, depth, among=among))
        near = []
        for own, share in zip(used, shares, strict=True):
            lists = [next(found) for _ in own]
            if len(own) == 1:
                near.append(lists[0][:topn])
                continue
            cosines: dict[str, float] = {}
            for key, cosine in chain.from_iterable(lists):
                cosines[key] = max(cosine, cosines.get(key, -1.0))
            ranked = blended([[key for key, _ in one] for one in lists], [share[n] for n in own], len(cosines))
            of_word: dict[str, str] = {}  # one sense of a word
            for key in ranked:
                of_word.setdefault(word_of(key), key)
            chosen = list(of_word.values())[:topn]
            near.append(sorted(((key, cosines[key]) for key in chosen), key=lambda pair: -pair[1]))
        return near

    def _shares(self, keys: Sequence[str]) -> list[float]:
        return [float(self.index.shares[self.index.row(key)]) for key in keys]

    def n_senses(self, word: str, *, granularity: float | None = None) -> int:
        """How many senses a word has, as it stands."""
        number = self.vocabulary.get(word)  # of a token it is one of these
        number = self.lookup(word, as_is=True).number if number is None else number
        return self.index.n_heads(self.at(granularity))[number]

    def tree(self, word: str, *, as_is: bool = False) -> Tree:
        """How the senses of a word merge as the granularity falls."""
        number = self.lookup(word, as_is=as_is).number
        nodes = {place: Tree(key=key) for place, key in enumerate(self.index.keys(number))}
        for kept, gone, height in self.merge_tree.merges(number) if self.merge_tree is not None else []:
            nodes[kept] = Tree(below=height, branches=(nodes[kept], nodes.pop(gone)))
        roots = tuple(nodes.values())
        return roots[0] if len(roots) == 1 else Tree(branches=roots)

    def labels(self, keys: Sequence[str | None], *, granularity: float | None = None) -> list[str]:
        """What each sense is like, in three words, those that are new at once; empty for words of one sense.

        At a granularity: of all the senses that it stands for, by their shares.
        """
        several(keys, "labels", "use label for one sense")
        granularity = self.at(granularity)
        at, known = self._labels
        if at != granularity:  # people choose one and leave it
            known = {}
        new = [key for key in dict.fromkeys(keys) if key is not None and key not in known]
        new_labels = dict.fromkeys(new, "") | self._new_labels([*filter(self.index.is_ambiguous, new)], granularity)
        known |= new_labels  # at once: other threads may ask too
        self._labels = granularity, known
        return ["" if key is None else known[key] for key in keys]

    def _new_labels(self, keys: Sequence[str], granularity: float) -> dict[str, str]:
        """Those of senses of several, told from the other senses of their words."""
        rows = {key: self.index.row(key) for key in keys}
        groups_of = {
            number: self.index.groups(number, granularity)
            for number in {self.index.word_of_row(row) for row in rows.values()}
        }
        wanted = {*rows.values(), *(row for groups in groups_of.values() for group, _ in groups for row in group)}
        like = self._like(list(map(self.index.key, wanted)))
        labels: dict[int, list[str]] = {}
        for groups in groups_of.values():
            lists = [self._list([self.index.key(row) for row in group], like) for group, _ in groups]
            best = contrasted(lists, [share for _, share in groups])
            labels |= {group[0]: words for (group, _), words in zip(groups, best, strict=True)}
        # Where another sense stands for it a sense has its own.
        return {
            key: " ".join(labels.get(row) or self._list([self.index.key(row)], like)[:LENGTH])
            for key, row in rows.items()
        }

    def _list(self, keys: Sequence[str], like: dict[str, list[str]]) -> list[str]:
        """The words that senses which are one are like, by their shares: of labels, then of substitutes."""
        own = [list(dict.fromkeys((*like[key], *self.substitutes_of(key)))) for key in keys]
        return own[0] if len(own) == 1 else blended(own, self._shares(keys), LISTED + N_SUBSTITUTES)

    def _like(self, keys: Sequence[str]) -> dict[str, list[str]]:
        """The words that each sense by itself is like: those that were saved, or found now."""
        saved = self.wordlists.labels
        if saved is not None:
            return {key: self._words(saved[self.index.row(key)]) for key in keys}
        new = [key for key in dict.fromkeys(keys) if key not in self._words_like]
        if new:
            self._words_like |= zip(new, self._label_words(new), strict=True)
        return self._words_like

    def with_labels(self) -> WordLists:
        """The word lists, with what the label of each sense of several is chosen from: what a model is saved with."""
        table = np.zeros((self.network.inventory.n_rows, LISTED), dtype=np.uint32)
        ambiguous = [key for key in self.vectors.keys if self.index.is_ambiguous(key)]
        for key, words in zip(ambiguous, self._label_words(ambiguous), strict=True):
            table[self.index.row(key), : len(words)] = [self.vocabulary[word] for word in words]
        return WordLists(labels=table, substitutes=self.wordlists.substitutes)

    def _label_words(self, keys: Sequence[str]) -> Iterator[list[str]]:
        return label_words(self.vectors, keys, [self.substitutes_of(key) for key in keys])

    def _words(self, numbers: NDArray[np.integer[Any]]) -> list[str]:
        return [self.vocabulary.words[number] for number in numbers.tolist() if number]

    def substitutes_of(self, *keys: str) -> list[str]:
        """The words that a sense, or senses that are one, can most often be replaced by.

        A plural of the word itself (banks, a name) is none.
        """
        if self.wordlists.substitutes is None:
            return []
        forms = regular_forms(word_of(keys[0]))
        own = [self._words(self.wordlists.substitutes[self.index.row(key)]) for key in keys]
        lists = [[other for other in words if other not in forms] for words in own]
        return lists[0] if len(keys) == 1 else blended(lists, self._shares(keys), N_SUBSTITUTES)

    @cached_property
    def vectors(self) -> SenseVectors:
        """The vectors of all senses of words, to look things up in."""
        of_words = self.index.of_words
        keys = [key for number, is_word in enumerate(self.index.is_word) if is_word for key in self.index.keys(number)]
        rows = self.network.embeddings.detach().float().cpu()[of_words]
        return SenseVectors(keys, rows, self.network.shares().cpu()[of_words].numpy().astype(np.float32))

    def shares(self, *, granularity: float | None = None) -> NDArray[np.float32]:
        """(n,) of the senses in `vectors`, with those that each stands for; 0 where another stands for it."""
        granularity, inventory = self.at(granularity), self.network.inventory
        shares = self.network.shares().cpu()
        if granularity < 1 and self.merge_tree is not None:
            heads = self.merge_tree.representatives(granularity)
            shares = torch.zeros(inventory.n_rows).index_add_(0, heads, shares)
        found: NDArray[np.float32] = shares[self.index.of_words].numpy().astype(np.float32)
        return found

    def most_similar(self, key: str, topn: int = 10, *, granularity: float | None = None) -> list[tuple[str, float]]:
        """The nearest senses of other words, of those that there are at a granularity, with their cosines.

        Of a sense that stands for others there, near to these too, with the cosine to the member that is nearest.
        """
        return self.nearest([key], topn, granularity=granularity)[0]

    def nearest(
        self, keys: Sequence[str], topn: int = 10, *, granularity: float | None = None
    ) -> list[list[tuple[str, float]]]:
        """The same for many senses at once."""
        several(keys, "nearest", "use most_similar for one sense")
        granularity = self.at(granularity)
        return self._near([self.index.group(key, granularity) for key in keys], topn, granularity)

    def similarity(self, a: str, b: str) -> float:
        """How alike two words are, or two senses such as bank#2, for which it is their cosine.

        For words, the mean of the cosine of their two senses that are most alike and of that of all, by their shares.
        """
        (ours, our_shares), (theirs, their_shares) = map(self._directions_of, (a, b))
        cosines = ours @ theirs.T
        return float(cosines.max() + our_shares @ cosines @ their_shares) / 2

    def _directions_of(self, typed: str) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """(n, d) and (n,) the senses of a word with their shares, or one sense."""
        resolved = self.lookup(typed)
        if resolved.key is not None:
            return self.vectors.vectors[[self.vectors.index(resolved.key)]], np.ones(1, dtype=np.float32)
        rows = [self.vectors.index(key) for key in self.index.keys(resolved.number)]
        shares = self.vectors.shares[rows]
        return self.vectors.vectors[rows], shares / max(float(shares.sum()), 1e-9)

    def word_directions(self, words: Sequence[str]) -> NDArray[np.float32]:
        """(n, d) what the model reads of each word before it is disambiguated, as `vectors` are: comparable."""
        several(words, "word_directions", "put a single word in a list")
        with torch.no_grad():
            every = self.network.word_vectors().float().cpu()
        chosen = every[[one.number for one in self.lookup.every(words, as_is=True)]]
        directions: NDArray[np.float32] = common(every[torch.tensor(self.index.is_word)]).removed(chosen).numpy()
        return directions


def blended(lists: Sequence[Sequence[str]], weights: Sequence[float], n: int) -> list[str]:
    """The n things that are far up in the lists, each of which counts as much as its weight."""
    chances: dict[str, float] = {}
    for things, weight in zip(lists, weights, strict=True):
        for rank, thing in enumerate(things):
            chances[thing] = chances.get(thing, 0.0) + weight / (rank + 3)
    return sorted(chances, key=lambda thing: -chances[thing])[:n]


def several(things: object, name: str, instead: str) -> None:
    """A string where a list is meant would be read letter by letter."""
    if isinstance(things, str):
        raise UserError(f"{name} takes a list, not a string: {instead}")
