"""Model: a network with the text pipeline, vocabulary and granularity that belong to it; what `polylm.load` returns."""

import os
import re
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from polylm.corpus.vocabulary import MASK, PAD, Vocabulary
from polylm.device import Device, choose_device
from polylm.errors import UserError
from polylm.explore import meaning
from polylm.explore.disambiguate import TaggedToken, check_several, read_focus, read_many, tag_many
from polylm.explore.index import SenseIndex
from polylm.explore.neighbours import SenseVectors, suggestion, word_of
from polylm.model.checkpoint import Precision, from_pretrained, save_pretrained
from polylm.model.geometry import common
from polylm.model.granularity import Granularity
from polylm.model.polylm import PolyLM
from polylm.model.readout import Source
from polylm.model.wordlists import WORDLISTS, WordLists
from polylm.text.lemmatizer import is_word, lemmas_of, regular_forms
from polylm.text.pipeline import TextPipeline, TextSettings

T = TypeVar("T")
Compute = Literal["auto", "float32", "bfloat16"]
VOCABULARY, TEXT = "vocabulary.tsv", "text.json"
LABEL, LABEL_FROM = 3, 12  # words of a label, and the nearest senses that they are chosen from
FAR_OFF, NEAR = 0.25, 0.4  # cosines: from where on a neighbour says something, and from where on it counts in full
INFLECTED = re.compile(r".(s|ed|ing|en|er|est)$")  # how most forms end that have several senses and are no lemmas
MOSTLY = 10  # times as common is a lemma, so that its form means it
PRETRAINED = Path(__file__).parent.parent / "pretrained" / "english"

# A forked process has none of the threads that torch would wait for.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: torch.set_num_threads(1))


@dataclass(frozen=True)
class Sense:
    """One sense of a word, at the granularity that was asked for."""

    key: str  # bank#3
    share: float  # of the word's occurrences in the training text
    neighbours: list[tuple[str, float]]  # the nearest senses of other words, and their cosines
    members: list[str]  # the senses that are one at this granularity, the commonest first; it gives the key
    substitutes: list[str] = field(default_factory=list)  # words it is most often interchangeable with

    def to_dict(self) -> dict[str, object]:
        return asdict(self)


@dataclass(frozen=True)
class Tree:
    """A sense, or senses that are one below a granularity; at the top perhaps some that never are."""

    key: str | None = None
    below: float | None = None
    branches: tuple["Tree", ...] = ()

    def to_dict(self) -> dict[str, object]:
        if self.key is not None:
            return {"key": self.key}
        return {"below": self.below, "branches": [branch.to_dict() for branch in self.branches]}


class Model:
    """Reads text. `granularity` is the dial: 1.0 keeps every sense apart, lower values merge what is confused."""

    def __init__(
        self,
        network: PolyLM,
        vocabulary: Vocabulary,
        settings: TextSettings | None = None,
        *,
        merging: Granularity | None = None,
        granularity: float | None = None,
        device: Device = "auto",
        precision: Compute = "auto",
    ) -> None:
        if network.inventory.n_words != len(vocabulary):
            raise UserError(
                f"the vocabulary has {len(vocabulary)} words and the network {network.inventory.n_words}: "
                "they do not belong together"
            )
        self.device = choose_device(device)
        self.network = network.to(self.device).eval()
        self.precision: Compute = precision
        network.compute_dtype = _compute_dtype(precision, self.device, network)
        network.keep_inputs()
        self.vocabulary = vocabulary
        self.pipeline = TextPipeline(vocabulary, settings)
        self.index = SenseIndex(network, vocabulary, merging)
        self._labels: dict[str, str] = {}
        self.wordlists = WordLists()
        self.folder: Path | None = None  # where it was loaded from
        self.granularity = default_dial(merging) if granularity is None else granularity

    @property
    def granularity(self) -> float:
        """The dial, which may be turned: from 0, all senses that were ever confused as one, to 1, every sense apart."""
        return self._granularity

    @granularity.setter
    def granularity(self, dial: float) -> None:
        self._granularity = checked_dial(dial, self.merging)

    def __reduce__(self) -> tuple[Any, ...]:
        """Other processes read the folder themselves."""
        if self.folder is None:
            raise UserError("a model that is in no folder cannot be sent to another process: save it and load it first")
        kind: Device = "cuda" if self.device.type == "cuda" else "cpu"
        return partial(load, self.folder, device=kind, granularity=self.granularity, precision=self.precision), ()

    @property
    def merging(self) -> Granularity | None:
        """Which senses are confused, if the model knows."""
        return self.index.merging

    @property
    def mask(self) -> int:
        """The id of `[MASK]`."""
        return self.vocabulary[MASK]

    @property
    def pad(self) -> int:
        """The id of `[PAD]`."""
        return self.vocabulary[PAD]

    def dial(self, granularity: float | None) -> float:
        """The granularity to use: the one given, or the model's own."""
        return self.granularity if granularity is None else checked_dial(granularity, self.merging)

    # Text

    def tag(
        self,
        text: str | Sequence[str],
        *,
        source: Source = "both",
        weight: float = 0.6,
        granularity: float | None = None,
    ) -> list[TaggedToken]:
        """The words of a text, or words that are tokens already, each with its sense."""
        return next(self.tag_many([text], source=source, weight=weight, granularity=granularity))

    def tag_many(
        self,
        texts: Iterable[str | Sequence[str]],
        *,
        source: Source = "both",
        weight: float = 0.6,
        granularity: float | None = None,
    ) -> Iterator[list[TaggedToken]]:
        """The same for many texts, in order, read together."""
        return tag_many(self, texts, source=source, weight=weight, granularity=granularity)

    def tag_lines(
        self, lines: Iterable[str], *, source: Source = "both", weight: float = 0.6, granularity: float | None = None
    ) -> Iterator[tuple[str, list[TaggedToken]]]:
        """Each line beside its words: for streams, of which no more is held than is read together."""
        check_several(lines, "tag_lines takes several lines: give a list, or use tag for one text")
        return self.tag_with(lines, lambda line: line, source=source, weight=weight, granularity=granularity)

    def tag_with(
        self,
        things: Iterable[T],
        text_of: Callable[[T], str | Sequence[str]],
        *,
        source: Source = "both",
        weight: float = 0.6,
        granularity: float | None = None,
    ) -> Iterator[tuple[T, list[TaggedToken]]]:
        """The same for things that have a text, or words."""
        read: deque[T] = deque()  # those whose words are not there yet

        def texts() -> Iterator[str | Sequence[str]]:
            for thing in things:
                read.append(thing)
                yield text_of(thing)

        for tokens in self.tag_many(texts(), source=source, weight=weight, granularity=granularity):
            yield read.popleft(), tokens

    def embed(
        self, text: str, *, span: tuple[int, int] | None = None, source: Source = "both", weight: float = 0.6
    ) -> NDArray[np.float32]:
        """(d,) the meaning of the word in brackets, of length one: `He sat on the [bank]`. Comparable across words.

        Without brackets `span` says from which character to which the word goes, as a token's `start` and `end` do.

        Its senses weighted by their probabilities, and a part of the senses that could stand in its place, all without
        the component that they share. So occurrences of one sense differ, as their contexts do. Of a word that the
        model does not know there is only what could stand in its place.
        """
        focus = read_focus(self, text, span=span, source=source, weight=weight)
        ((_, vectors),) = meaning.embeddings(self, [(0, focus)])
        vector: NDArray[np.float32] = vectors[0]
        return vector

    def embed_many(
        self,
        texts: Sequence[str],
        *,
        spans: Sequence[tuple[int, int]] | None = None,
        source: Source = "both",
        weight: float = 0.6,
        strict: bool = True,
    ) -> NDArray[np.float32]:
        """(n, d) the same for many texts, several times as fast; with `spans`, one for each.

        If not `strict`, a text whose focus is no word has a row of NaN, instead of a complaint.
        """
        check_several(texts, "embed_many takes several texts: give a list, or use embed for one text")
        texts = list(texts)
        if spans is not None:
            spans = list(spans)
            if len(spans) != len(texts):
                raise UserError(f"there are {len(texts)} texts and {len(spans)} spans: give one for each")
        embedded = np.full((len(texts), self.network.config.d_model), np.nan, dtype=np.float32)
        found = read_many(self, texts, spans=spans, source=source, weight=weight, strict=strict)
        for numbers, vectors in meaning.embeddings(self, found):
            embedded[numbers] = vectors
        return embedded

    def substitutes(
        self,
        text: str,
        topn: int = 10,
        *,
        span: tuple[int, int] | None = None,
        source: Source = "both",
        weight: float = 0.6,
    ) -> list[tuple[str, float]]:
        """Words that could stand for the one in brackets or at `span`: likely there, and near to its meaning."""
        if topn < 1:
            raise UserError(f"{topn} substitutes are none: ask for 1 or more")
        focus = read_focus(self, text, span=span, source=source, weight=weight)
        return meaning.substitutes(self, focus, topn)

    # Senses

    def label(self, key: str | None) -> str:
        """What a sense of several is like: three words that are near to it, or that could stand for it."""
        return self.labels([key])[0]

    def labels(self, keys: Sequence[str | None]) -> list[str]:
        """The same for many, those that are new at once; empty for words of one sense."""
        check_several(keys, "labels takes several senses: give a list, or use label for one")
        new = [key for key in dict.fromkeys(keys) if key is not None and key not in self._labels]
        for key in new:
            self.index.row(key)  # complains of what is no key
        found = dict.fromkeys(new, "")
        several = [key for key in new if self.index.is_ambiguous(key)]
        if self.wordlists.labels is not None:
            for key in several:
                found[key] = " ".join(self._listed(self.wordlists.labels[self.index.row(key)]))
        elif several:
            found |= zip(several, map(" ".join, self._label_words(several)), strict=True)
        self._labels |= found  # at once: other threads may ask too
        return ["" if key is None else self._labels[key] for key in keys]

    def _listed(self, numbers: NDArray[np.integer[Any]]) -> list[str]:
        return [self.vocabulary.words[number] for number in numbers.tolist() if number]

    def _label_words(self, keys: Sequence[str]) -> Iterator[list[str]]:
        """The best of each sense's neighbours and substitutes: those that are far up in both lists.

        Senses that have no near neighbours have odd ones, so these count by how near they are.
        """
        near = self.vectors.nearest([self.vectors.index(key) for key in keys], LABEL_FROM)
        for key, found in zip(keys, near, strict=True):
            chances: defaultdict[str, float] = defaultdict(float)
            substitutes = self.substitutes_of(key)
            for rank, (other, cosine) in enumerate(found):
                counts = min(max((cosine - FAR_OFF) / (NEAR - FAR_OFF), 0.0), 1.0) if substitutes else 1.0
                chances[word_of(other)] += counts / (rank + 3)
            for rank, word in enumerate(substitutes):
                chances[word] += 1 / (rank + 3)
            yield sorted(chances, key=lambda word: -chances[word])[:LABEL]

    def substitutes_of(self, key: str) -> list[str]:
        """The words that a sense is most often interchangeable with; its own plural (banks, a name) is none."""
        if self.wordlists.substitutes is None:
            return []
        own = regular_forms(word_of(key))
        return [other for other in self._listed(self.wordlists.substitutes[self.index.row(key)]) if other not in own]

    def _label_table(self) -> NDArray[np.integer[Any]]:
        """(S, 3) the numbers of the words in the label of each sense of several; zeros elsewhere."""
        table = np.zeros((self.network.inventory.n_rows, LABEL), dtype=np.uint32)
        several = [key for key in self.vectors.keys if self.index.is_ambiguous(key)]
        for key, words in zip(several, self._label_words(several), strict=True):
            table[self.index.row(key), : len(words)] = [self.vocabulary[word] for word in words]
        return table

    def has_senses(self, number: int) -> bool:
        """Whether a word is one: not a marker, a special symbol or punctuation."""
        return self.index.is_word[number]

    def keys_of(self, number: int) -> list[str]:
        """The keys of a word's senses, in the order of its rows."""
        return self.index.keys(number)

    def n_senses(self, word: str, *, granularity: float | None = None) -> int:
        """How many senses a word has."""
        return len(set(self.index.heads(self._number_of(word), self.dial(granularity))))

    def words(self) -> list[str]:
        """All words that have senses, the commonest first."""
        return self.index.words()

    def split_key(self, what: str) -> tuple[str, str | None]:
        """A word, or the word of a sense and its key: bank#2 is bank and bank#2; C# may be a word."""
        word, mark, number = what.rpartition("#")
        if not mark or not number.isdigit() or what in self.vocabulary:
            return what, None
        return word, self.vectors.keys[self.vectors.index(what)]

    def lemma_of(self, word: str) -> str:
        """The word of the model that a form belongs to."""
        return self.vocabulary.words[self._number_of(word)]

    def senses(self, word: str, *, granularity: float | None = None, topn: int = 8) -> list[Sense]:
        """The senses of a word, the commonest first."""
        return self.senses_of([word], granularity=granularity, topn=topn)[0]

    def senses_of(self, words: Sequence[str], *, granularity: float | None = None, topn: int = 8) -> list[list[Sense]]:
        """The same for many words, whose neighbours are looked for together."""
        check_several(words, "senses_of takes several words: give a list, or use senses for one")
        dial = self.dial(granularity)
        grouped = [self.index.groups(self._number_of(word), dial) for word in words]
        heads = [self.index.key(group[0]) for own in grouped for group, _ in own]
        rows = [self.vectors.index(key) for key in heads]
        near = iter(self.vectors.nearest(rows, topn, among=self.index.are_heads(dial)))
        return [
            [
                Sense(
                    self.index.key(group[0]),
                    round(share, 4),
                    [(key, round(cosine, 4)) for key, cosine in next(near)],
                    [self.index.key(row) for row in group],
                    self.substitutes_of(self.index.key(group[0])),
                )
                for group, share in own
            ]
            for own in grouped
        ]

    def tree(self, word: str) -> "Tree":
        """How the senses of a word merge as the granularity falls."""
        number = self._number_of(word)
        keys = self.keys_of(number)
        nodes = {place: Tree(key=key) for place, key in enumerate(keys)}
        for kept, gone, height in self.merging.merges(number) if self.merging is not None else []:
            nodes[kept] = Tree(below=height, branches=(nodes[kept], nodes.pop(gone)))
        roots = tuple(nodes.values())
        return roots[0] if len(roots) == 1 else Tree(branches=roots)

    def most_similar(self, key: str, topn: int = 10, *, granularity: float | None = None) -> list[tuple[str, float]]:
        """The nearest senses of other words, of those that there are at a granularity."""
        return self.vectors.most_similar(key, topn, among=self.index.are_heads(self.dial(granularity)))

    def similarity(self, a: str, b: str) -> float:
        """How alike two words are, or two senses such as bank#2, for which it is their cosine.

        For words, the mean of the cosine of their two senses that are most alike and of that of all, by their shares.
        An inflected form is taken for its lemma (`usual`).
        """
        (ours, our_shares), (theirs, their_shares) = map(self._directions_of, (a, b))
        cosines = ours @ theirs.T
        return float(cosines.max() + our_shares @ cosines @ their_shares) / 2

    def _directions_of(self, what: str) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """(n, d) and (n,) the senses of a word with their shares, or one sense."""
        word, key = self.split_key(what)
        if key is not None:
            row = self.vectors.index(key)
            return self.vectors.vectors[[row]], np.ones(1, dtype=np.float32)
        rows = [self.vectors.index(one) for one in self.keys_of(self.vocabulary[self.usual(word)])]
        shares = self.vectors.shares[rows]
        return self.vectors.vectors[rows], shares / max(float(shares.sum()), 1e-9)

    @cached_property
    def vectors(self) -> SenseVectors:
        """The vectors of all senses of words, to look things up in."""
        of_words = self.index.of_words
        keys = [key for number, is_word in enumerate(self.index.is_word) if is_word for key in self.index.keys(number)]
        rows = self.network.embeddings.detach().float().cpu()[of_words]
        return SenseVectors(keys, rows, self.network.shares().cpu()[of_words].numpy().astype(np.float32))

    def word_directions(self, words: Sequence[str]) -> NDArray[np.float32]:
        """(n, d) what the model reads of each word before it is disambiguated, as `vectors` are: comparable."""
        check_several(words, "word_directions takes several words: give a list")
        with torch.no_grad():
            every = self.network.word_vectors().float().cpu()
        of_words = every[torch.tensor(self.index.is_word)]
        mine = every[[self._number_of(word) for word in words]]
        directions: NDArray[np.float32] = common(of_words).removed(mine).numpy()
        return directions

    def other_readings(self, word: str) -> list[str]:
        """Lemmas that a form may have beside the one that `senses` takes: leave, for leaves."""
        taken = self.vocabulary.words[self._number_of(word)]
        found = [lemma for pos in "nvjr" for lemma in lemmas_of(word.lower(), pos)]
        return [
            lemma for lemma in dict.fromkeys(found) if lemma != taken and self.has_senses(self.vocabulary.get(lemma, 0))
        ]

    def usual(self, word: str) -> str:
        """The word that a form mostly stands for: dog for dogs, which is also part of a few names.

        A word of its own (left, saw), and a form that is not rare beside its lemma (states), stand for themselves; so
        does a word of several senses that does not end as most forms do (lost): to look it up takes half a second.
        """
        number = self._number_of(word)
        taken = self.vocabulary.words[number]
        if int(self.network.inventory.n_senses[number]) > 1 and not INFLECTED.search(taken):
            return taken
        if any(taken in lemmas_of(taken, pos) for pos in "nvjr"):
            return taken
        read = self.pipeline.analyze(word)[0].lemma
        counts = self.vocabulary.counts
        lemma = self.vocabulary.get(read, 0)
        return read if self.has_senses(lemma) and counts[lemma] >= MOSTLY * counts[number] else taken

    def _number_of(self, word: str) -> int:
        """The number of a word; of an inflected one that of its lemma."""
        for form in (word, word.lower()):
            number = self.vocabulary.get(form)
            if number is not None and self.index.is_word[number]:
                return number
        words = self.pipeline.analyze(word)
        if len(words) == 1 and self.has_senses(self.vocabulary.get(words[0].lemma, 0)):
            return self.vocabulary[words[0].lemma]
        several = [one.text for one in words if is_word(one.text)]
        if len(several) > 1:
            raise UserError(f"{word!r} is read as {', '.join(several)}: ask for one word of them")
        known = suggestion(word.lower(), self.words())
        raise UserError(f"{word!r} is not a word that the model knows{known}")

    def __repr__(self) -> str:
        inventory = self.network.inventory
        return (
            f"polylm.Model({inventory.n_words:,} words, {inventory.n_rows:,} senses, "
            f"granularity {self.granularity:g}, {self.device})"
        )

    def facts(self) -> dict[str, object]:
        """What can be told of it in numbers."""
        network, inventory = self.network, self.network.inventory
        several = inventory.poly_words
        return {
            "folder": None if self.folder is None else str(self.folder),
            "words": inventory.n_words,
            "words_of_several_senses": len(several),
            "senses": inventory.n_rows,
            "senses_at_this_granularity": self._count_senses(),
            "granularity": self.granularity,
            "effective_senses": round(network.mean_effective_senses(), 2),
            "parameters": sum(parameter.numel() for parameter in network.parameters()),
            "contextualizer": network.config.contextualizer,
            "d_model": network.config.d_model,
            "layers": [network.config.n_layers_d if network.c_d is not None else 0, network.config.n_layers_p],
            "max_length": network.config.max_length,
        }

    def _count_senses(self) -> int:
        if self.merging is None or self.granularity >= 1:
            return self.network.inventory.n_rows
        return len(self.merging.representatives(self.granularity).unique())  # type: ignore[no-untyped-call]

    def prune(self, least: float = 0.01) -> "Model":
        """A smaller model without senses that are meant in less than this share of their word's occurrences.

        The others keep their keys.
        """
        if not 0 <= least <= 1:
            raise UserError(f"a share of {least} is not between 0 and 1")
        kept = ~self.network.dead_senses(least)
        network = self.network.prune(least)
        merging = None if self.merging is None else self.merging.select(kept, network.inventory)
        device: Device = "cuda" if self.device.type == "cuda" else "cpu"
        about = {"merging": merging, "granularity": self.granularity, "device": device, "precision": self.precision}
        pruned = Model(network, self.vocabulary, self.pipeline.settings, **about)  # type: ignore[arg-type]
        pruned.wordlists = self.wordlists.select(kept.cpu().numpy())
        return pruned

    def save_pretrained(
        self, folder: str | Path, *, precision: Precision = "float32", card: str | None = None, labels: bool = False
    ) -> None:
        """Write everything that `polylm.load` needs; `card` is its README.md, by default what can be told of it.

        `labels`: also what each sense is like, which takes a while once and spares it whenever long texts are tagged.
        """
        if self.merging is not None:
            self.merging.dial = self.granularity
        files = {VOCABULARY: self.vocabulary.to_bytes(), TEXT: self.pipeline.settings.to_bytes()}
        if card is not None:
            files["README.md"] = card.encode()
        lists = replace(self.wordlists, labels=self._label_table() if labels else self.wordlists.labels)
        if lists.tables():
            files[WORDLISTS] = lists.to_bytes(len(self.vocabulary))
        save_pretrained(self.network, folder, granularity=self.merging, precision=precision, files=files)
        if WORDLISTS not in files:
            (Path(folder) / WORDLISTS).unlink(missing_ok=True)  # of a model that was here before


def load(
    path: str | Path | None = None,
    *,
    device: Device = "auto",
    granularity: float | None = None,
    precision: Compute = "auto",
) -> Model:
    """The bundled English model, or the one in a folder.

    `precision` is what the encoders compute in: float32 on a processor and bfloat16 on a GPU unless said otherwise.
    bfloat16 is about one and a half times as fast on processors that have it; probabilities may change in their second
    digit.
    """
    if path is None and not PRETRAINED.is_dir():
        raise UserError("this installation has no English model: install polylm again, or name the folder of a model")
    folder = PRETRAINED if path is None else Path(path)
    choose_device(device)  # before anything is read
    network, merging = from_pretrained(folder)
    if not (folder / VOCABULARY).exists() or not (folder / TEXT).exists():
        raise UserError(f"{folder} holds a network without its {VOCABULARY} or {TEXT}: it cannot read text")
    vocabulary = Vocabulary.load(folder / VOCABULARY)
    settings = TextSettings.load(folder / TEXT)
    about = {"merging": merging, "granularity": granularity, "device": device, "precision": precision}
    model = Model(network, vocabulary, settings, **about)  # type: ignore[arg-type]
    model.folder = folder.absolute()
    model.wordlists = WordLists.load(folder, network.inventory.n_rows, len(vocabulary))
    return model


def default_dial(merging: Granularity | None) -> float:
    """What a model says of itself; 1.0, every sense, where it says nothing."""
    return merging.dial if merging is not None else 1.0


def checked_dial(dial: float, merging: Granularity | None) -> float:
    """A granularity from 0 to 1; below 1 only for a model that knows which of its senses are confused."""
    if not isinstance(dial, int | float) or not 0 <= dial <= 1:
        raise UserError(f"a granularity of {dial} is not between 0 and 1")
    if dial < 1 and merging is None:
        raise UserError("this model was saved without the confusions of its senses: its granularity is 1")
    return dial


def _compute_dtype(precision: Compute, device: torch.device, network: PolyLM) -> torch.dtype | None:
    """auto: float32 on a processor, where every machine then gives the same senses; bfloat16 on a GPU."""
    if precision not in ("auto", "float32", "bfloat16"):
        raise UserError(f"{precision!r} is not a precision to compute in: choose auto, float32 or bfloat16")
    half = precision == "bfloat16" or (precision == "auto" and device.type == "cuda")
    return torch.bfloat16 if half and getattr(network.c_p, "follows_dtype", False) else None
