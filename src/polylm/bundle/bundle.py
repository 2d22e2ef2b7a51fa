"""Bundle: everything that makes a model, and the folder that holds it. Written here, read here, named here alone.

    config.json         what this is: format, shape, granularity, and the sha256 of every other file; written last
    model.safetensors   the network, and which of its senses are confused
    vocabulary.tsv      word, count, number of senses; the id is the line's number from 0
    text.json           how text is read
    senses.npz          labels and substitutes of senses, if there are any
    training.json       facts of the training run, if there was one
    README.md           the card

A folder without a config.json is no bundle, whatever else is in it. Never pickle. Format 1 had no sums of its files.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from polylm.atomic import write_bytes
from polylm.bundle.weights import Precision, from_tensors, read_tensors, to_tensors
from polylm.errors import UserError
from polylm.model.config import ModelConfig
from polylm.model.polylm import PolyLM
from polylm.model.pruning import dead_senses, pruned
from polylm.senses.merge_tree import MergeTree, checked_granularity
from polylm.senses.wordlists import WordLists
from polylm.text.settings import TEXT, TextSettings
from polylm.text.vocabulary import VOCABULARY, Vocabulary

FORMAT = 2
CONFIG, WEIGHTS, WORDLISTS, TRAINING, CARD = (
    "config.json",
    "model.safetensors",
    "senses.npz",
    "training.json",
    "README.md",
)
RUN = "run.json"  # of a training run, whose folder becomes a bundle when it is finished


@dataclass(frozen=True)
class Bundle:
    """A network, and all that belongs to it. `granularity` is what it is used with where nobody says otherwise."""

    network: PolyLM
    vocabulary: Vocabulary
    text: TextSettings = field(default_factory=TextSettings)
    merge_tree: MergeTree | None = None
    granularity: float = 1.0
    wordlists: WordLists = field(default_factory=WordLists)
    training: Mapping[str, Any] | None = None
    folder: Path | None = None  # that it was read from

    def __post_init__(self) -> None:
        checked_granularity(self.granularity, self.merge_tree)
        if self.network.inventory.n_words != len(self.vocabulary):
            raise UserError(
                f"the vocabulary has {len(self.vocabulary)} words and the network {self.network.inventory.n_words}: "
                "they do not belong together"
            )

    @classmethod
    def read(cls, folder: str | Path) -> "Bundle":
        """The bundle in a folder, every file checked."""
        folder = Path(folder)
        try:
            return cls._read(folder, _read_config(folder))
        except UserError:
            raise
        except PermissionError as error:
            raise UserError(f"{error.filename} may not be read: check its permissions") from None
        except (TypeError, ValueError, IndexError, KeyError, RuntimeError, AttributeError, OSError) as error:
            raise UserError(f"{folder} is not a whole model of polylm: {error}") from None

    @classmethod
    def _read(cls, folder: Path, description: dict[str, Any]) -> "Bundle":
        config = ModelConfig.from_dict(description["model"])
        network, merge_tree = from_tensors(
            read_tensors(folder / WEIGHTS), config, [int(word) for word in description["excluded"]], folder / WEIGHTS
        )
        inventory = network.inventory
        sizes = description.get("words", inventory.n_words), description.get("senses", inventory.n_rows)
        if sizes != (inventory.n_words, inventory.n_rows):
            raise UserError(f"{folder / WEIGHTS} does not belong to {folder / CONFIG}: it has other words or senses")
        for name in (VOCABULARY, TEXT):
            if not (folder / name).exists():
                raise UserError(f"{folder} holds a network without its {name}: it cannot read text")
        vocabulary = Vocabulary.load(folder / VOCABULARY)
        has_lists = WORDLISTS in description.get("files", [WORDLISTS])  # others are not its own
        lists = WordLists.load(folder / WORDLISTS, inventory.n_rows, len(vocabulary)) if has_lists else WordLists()
        return cls(
            network,
            vocabulary,
            TextSettings.load(folder / TEXT),
            merge_tree,
            float(description.get("granularity", 1.0)) if merge_tree is not None else 1.0,
            lists,
            read_training(folder),
            folder.absolute(),
        )

    def write(self, folder: str | Path, *, precision: Precision = "float32", card: str | None = None) -> None:
        """Write it to a folder; `card` is its README.md, by default what can be told of it."""
        from safetensors.torch import save

        if not str(folder):
            raise UserError("the folder to write to has no name")
        folder = Path(folder)
        _check_ours(folder)
        weights = save(to_tensors(self.network, self.merge_tree, precision))
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise UserError(f"{folder} is a file: name a folder to write to") from None
        files: dict[str, bytes] = {
            WEIGHTS: weights,
            CARD: card.encode() if card is not None else self._card(precision),
            VOCABULARY: self.vocabulary.to_bytes(),
            TEXT: self.text.to_bytes(),
        }
        if self.wordlists.tables():
            files[WORDLISTS] = self.wordlists.to_bytes(len(self.vocabulary))
        if self.training is not None:
            files[TRAINING] = _json(self.training)
        description: dict[str, Any] = {
            "format": FORMAT,
            "precision": precision,
            "model": self.network.config.to_dict(),
            "excluded": list(self.network.inventory.excluded),
            "words": self.network.inventory.n_words,
            "senses": self.network.inventory.n_rows,
            "files": {name: hashlib.sha256(data).hexdigest() for name, data in files.items()},
        }
        if self.merge_tree is not None:
            description["granularity"] = self.granularity
        (folder / CONFIG).unlink(missing_ok=True)  # of a model that was there: until all is written there is none
        for name, data in files.items():
            write_bytes(folder / name, data)
        for name in {WORDLISTS, TRAINING} - set(files):
            (folder / name).unlink(missing_ok=True)  # of the model that was there
        write_bytes(folder / CONFIG, _json(description))

    def pruned(self, least: float) -> "Bundle":
        """One without senses that are meant in less than this share of their word's occurrences."""
        if not 0 <= least <= 1:
            raise UserError(f"a share of {least} is not between 0 and 1")
        kept = ~dead_senses(self.network, least)
        network = pruned(self.network, least)
        merge_tree = None if self.merge_tree is None else self.merge_tree.select(kept, network.inventory)
        lists = self.wordlists.select(kept.cpu().numpy())
        return replace(self, network=network, merge_tree=merge_tree, wordlists=lists, folder=None)

    def facts(self) -> dict[str, Any]:
        """Key figures."""
        network, config, inventory = self.network, self.network.config, self.network.inventory
        return {
            "folder": None if self.folder is None else str(self.folder),
            "words": inventory.n_words,
            "words_of_several_senses": len(inventory.poly_words),
            "senses": inventory.n_rows,
            "granularity": self.granularity,
            "effective_senses": round(network.mean_effective_senses(), 2),
            "parameters": sum(parameter.numel() for parameter in network.parameters()),
            "contextualizer": config.contextualizer,
            "d_model": config.d_model,
            "layers": [config.n_layers_d if network.c_d is not None else 0, config.n_layers_p],
            "max_length": config.max_length,
        }

    def _card(self, precision: str) -> bytes:
        """What a model says of itself where its maker says nothing more."""
        facts, dead = self.facts(), f"{int(dead_senses(self.network).sum()):,} hardly used"
        layers = " + ".join(str(n) for n in facts["layers"] if n)
        return f"""# A sense-level language model

Made by polylm, after PolyLM (Ansell, Bravo-Marquez and Pfahringer, EACL 2021).

| | |
|---|---|
| words | {facts["words"]:,}, {facts["words_of_several_senses"]:,} of them with several senses |
| senses | {facts["senses"]:,}; on average {facts["effective_senses"]:.2f} effective ones a word of several; {dead} |
| network | {facts["contextualizer"]}, d {facts["d_model"]}, {layers} layers, {facts["parameters"]:,} parameters |
| stored in | {precision} |
""".encode()


def _check_ours(folder: Path) -> None:
    """Whether what lies in a folder may be written over: a model, whole or not, or what a run left."""
    if not folder.is_dir() or any((folder / name).exists() for name in (WEIGHTS, RUN)):
        return
    there = [name for name in (CONFIG, CARD, VOCABULARY, TEXT) if (folder / name).exists()]
    if there:
        raise UserError(f"{folder} holds other files ({', '.join(there)}): name a new folder")


def is_bundle(folder: Path) -> bool:
    """Whether a folder holds a whole one: its config.json is written last."""
    return (folder / CONFIG).is_file()


def read_training(folder: Path) -> dict[str, Any] | None:
    """The facts of the training run, if there was one and they can be read."""
    try:
        facts = json.loads((folder / TRAINING).read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    return facts if isinstance(facts, dict) else None


def _json(values: Mapping[str, Any]) -> bytes:
    return (json.dumps(dict(values), indent=2) + "\n").encode()


def _read_config(folder: Path) -> dict[str, Any]:
    path = folder / CONFIG
    if not folder.is_dir():
        is_file = folder.exists()
        raise UserError(
            f"{folder} is a file: name the folder of a model" if is_file else f"there is no folder {folder}"
        )
    try:
        description = json.loads(path.read_bytes())
    except FileNotFoundError:
        if (folder / RUN).is_file():
            raise UserError(f"{folder} is an unfinished run: continue it with {{resume}}", resume=True) from None
        raise UserError(f"{folder} holds no model: it has no {CONFIG}") from None
    except ValueError:
        raise UserError(f"{path} is damaged") from None
    if not isinstance(description, dict) or not isinstance(description.get("format"), int) or description["format"] < 1:
        raise UserError(f"{path} does not describe a model of polylm")
    if description["format"] > FORMAT:
        raise UserError(f"{folder} was made by a newer polylm (format {description['format']}): upgrade to read it")
    missing = {"model", "excluded", *(["files"] if description["format"] > 1 else [])} - set(description)
    if missing:
        raise UserError(f"{path} is damaged: {sorted(missing)[0]} is missing")
    _check_files(folder, description.get("files", {}))
    return description


def _check_files(folder: Path, sums: object) -> None:
    if not isinstance(sums, dict) or any(Path(name).name != name for name in sums):
        raise UserError(f"{folder / CONFIG} is damaged: its list of files is invalid")
    for name, sha256 in sums.items():
        if name == CARD:  # people write into it
            continue
        path = folder / name
        try:
            with path.open("rb") as file:
                actual = hashlib.file_digest(file, "sha256").hexdigest()
        except FileNotFoundError:
            raise UserError(f"{path} is missing") from None
        if actual != sha256:
            raise UserError(f"{path} is not the file that was saved: its sha256 is not the one in {CONFIG}")
