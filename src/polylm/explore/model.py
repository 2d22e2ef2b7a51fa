"""Model: what `polylm.load()` returns. It holds a reader of text and a lexicon of senses, and asks them."""

import copy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from polylm.bundle.bundle import Bundle
from polylm.bundle.weights import Precision
from polylm.device import Device, choose_device, one_thread_in_forks
from polylm.errors import UserError
from polylm.explore.embedding import Embedder
from polylm.explore.tagging import Tagger
from polylm.model.polylm import PolyLM
from polylm.reading.precision import Compute, set_precision
from polylm.reading.reader import Reader
from polylm.senses.lexicon import Lexicon, Sense, Tree
from polylm.senses.vectors import SenseVectors
from polylm.text.pipeline import TextPipeline
from polylm.text.vocabulary import Vocabulary

PRETRAINED = Path(__file__).parent.parent / "pretrained" / "english"


class Model(Tagger, Embedder):
    """Reads text, and knows words. `model.granularity` may be set: 1 keeps every sense apart, less merges more.

    `reader` reads text and `lexicon` looks words up: they do the work. What needs both is a `Tagger` or an `Embedder`.
    """

    def __init__(
        self,
        bundle: Bundle,
        *,
        granularity: float | None = None,
        device: Device = "auto",
        precision: Compute = "auto",
        share: bool = False,
    ) -> None:
        """`share`: use the bundle's network as it is, and change it, instead of a copy."""
        if not share:
            network, merge_tree = copy.deepcopy((bundle.network, bundle.merge_tree))
            bundle = replace(bundle, network=network, merge_tree=merge_tree)
        self.bundle, self.precision = bundle, precision
        one_thread_in_forks()
        self.device = choose_device(device)
        network = bundle.network.to(self.device).eval()
        set_precision(network, precision)
        network.keep_inputs()
        pipeline = TextPipeline(bundle.vocabulary, bundle.text)
        lexicon = Lexicon(
            network,
            bundle.vocabulary,
            pipeline,
            merge_tree=bundle.merge_tree,
            wordlists=bundle.wordlists,
            granularity=bundle.granularity if granularity is None else granularity,
        )
        super().__init__(Reader(network, pipeline), lexicon)

    def __reduce__(self) -> tuple[Any, ...]:
        """Other processes read the folder themselves."""
        if self.bundle.folder is None:
            raise UserError("a model that is in no folder cannot be sent to another process: save it and load it first")
        device: Device = "cuda" if self.device.type == "cuda" else "cpu"
        again = partial(load, self.bundle.folder, device=device, granularity=self.granularity, precision=self.precision)
        return again, ()

    def __repr__(self) -> str:
        inventory = self.network.inventory
        return (
            f"polylm.Model({inventory.n_words:,} words, {inventory.n_rows:,} senses, "
            f"granularity {self.granularity:g}, {self.device})"
        )

    @property
    def network(self) -> PolyLM:
        """The network, in PyTorch."""
        return self.bundle.network

    @property
    def vocabulary(self) -> Vocabulary:
        """Its words, with their counts in the training text."""
        return self.bundle.vocabulary

    @property
    def vectors(self) -> SenseVectors:
        """The vectors of all senses of words, to look things up in."""
        return self.lexicon.vectors

    @property
    def granularity(self) -> float:
        """From 0, all senses that were ever confused as one, to 1, every sense apart."""
        return self.lexicon.granularity

    @granularity.setter
    def granularity(self, granularity: float) -> None:
        self.lexicon.granularity = granularity

    # Words

    def senses(self, word: str, *, granularity: float | None = None, topn: int = 8, as_is: bool = False) -> list[Sense]:
        """The senses of a word, the commonest first, with `topn` neighbours each; of bank#2 that one alone.

        An inflected form has the senses of its lemma, mice those of mouse, unless it is asked for `as_is`.
        """
        return self.lexicon.senses([word], granularity=granularity, topn=topn, as_is=as_is)[0]

    def tree(self, word: str, *, as_is: bool = False) -> Tree:
        """How the senses of a word merge as the granularity falls."""
        return self.lexicon.tree(word, as_is=as_is)

    def label(self, key: str | None, *, granularity: float | None = None) -> str:
        """What a sense of several is like: three words that are near to it, or that could stand for it.

        Of a sense that stands for others at the granularity, they are words of all of these.
        """
        return self.lexicon.labels([key], granularity=granularity)[0]

    def words(self) -> list[str]:
        """All words that have senses, the commonest first."""
        return self.lexicon.index.words()

    def most_similar(self, key: str, topn: int = 10, *, granularity: float | None = None) -> list[tuple[str, float]]:
        """The nearest senses of other words, of those that there are at a granularity, with their cosines."""
        return self.lexicon.most_similar(key, topn, granularity=granularity)

    def similarity(self, a: str, b: str) -> float:
        """How alike two words are, out of context, or two senses such as bank#2."""
        return self.lexicon.similarity(a, b)

    # The whole

    def facts(self) -> dict[str, object]:
        """What can be told of it in numbers."""
        at_this = {"senses_at_this_granularity": sum(self.lexicon.index.n_heads(self.granularity))}
        return {**self.bundle.facts(), **at_this, "granularity": self.granularity}

    def prune(self, least: float = 0.01) -> "Model":
        """A smaller model without senses that are meant in less than this share of their word's occurrences.

        The others keep their keys.
        """
        device: Device = "cuda" if self.device.type == "cuda" else "cpu"
        smaller = replace(self.bundle, granularity=self.granularity).pruned(least)
        return Model(smaller, device=device, precision=self.precision, share=True)

    def save_pretrained(
        self, folder: str | Path, *, precision: Precision = "float32", card: str | None = None, labels: bool = False
    ) -> None:
        """Write everything that `polylm.load` needs; `card` is its README.md, by default what can be told of it.

        `labels`: also what each sense is like, which takes a while once and spares it whenever long texts are tagged.
        """
        lists = self.lexicon.with_labels() if labels else self.bundle.wordlists
        bundle = replace(self.bundle, granularity=self.granularity, wordlists=lists)
        bundle.write(folder, precision=precision, card=card)


def load(
    path: str | Path | None = None,
    *,
    device: Device = "auto",
    granularity: float | None = None,
    precision: Compute = "auto",
) -> Model:
    """The bundled English model, or the one in a folder.

    `precision` is what the encoders compute in. auto: bfloat16 on a GPU; on a processor 8-bit integers, where it
    multiplies them fast (VNNI) and the model has what that needs, else float32. Of 1,000 words of several senses two
    have another sense in integers than in float32, and one in bfloat16.
    """
    if path is None and not PRETRAINED.is_dir():
        raise UserError("this installation has no English model: install polylm again, or name the folder of a model")
    choose_device(device)  # before anything is read
    bundle = Bundle.read(PRETRAINED if path is None else path)
    return Model(bundle, granularity=granularity, device=device, precision=precision, share=True)
