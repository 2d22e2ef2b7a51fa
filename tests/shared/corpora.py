"""A prepared corpus of planted homonyms, small enough to train on in seconds."""

import hashlib
import json

import numpy as np
import pytest
import torch
from benchmarks import planted_words as planted
from safetensors.torch import load_file

from polylm.model.config import ModelConfig
from polylm.symbols import SPECIAL
from polylm.text.vocabulary import Vocabulary
from polylm.training.config import TrainConfig

LINE = 3
SHIFT = len(SPECIAL) - 2  # planted words begin at 2
TINY = ModelConfig(d_model=32, d_filter=64, n_heads=2, n_layers_d=1, n_layers_p=1, max_length=22)


def spelled(kind, number):
    """A name of letters alone."""
    return kind + "".join("abcdefghij"[int(digit)] for digit in f"{number:03d}")


def write_corpus(folder, n_texts=3000, seed=0, k=4, n_with=planted.N_HOMONYMS, name="{}{}".format):
    """Lines of ten words; the last 45 words are homonyms of two topics each, the first `n_with` of them with senses."""
    words, _ = planted.texts(n_texts, torch.Generator().manual_seed(seed))
    lines = torch.cat((words + SHIFT, torch.full((n_texts, 1), LINE)), dim=1)
    ids = lines.flatten().numpy().astype("<u2")
    n_plain = planted.FIRST_HOMONYM - 2
    names = [name("w", n) for n in range(n_plain)] + [name("h", n) for n in range(planted.N_HOMONYMS)]
    senses = [1] * n_plain + [k] * n_with + [1] * (planted.N_HOMONYMS - n_with)
    counts = np.bincount(ids, minlength=len(SPECIAL) + len(names)).tolist()
    vocabulary = Vocabulary([*SPECIAL, *names], counts, [1] * len(SPECIAL) + senses)
    folder.mkdir(parents=True, exist_ok=True)
    files = {"vocabulary.tsv": vocabulary.to_bytes(), "text.json": b'{"lemmatize": false}\n'}
    for name, data in {**files, "shard-00000.bin": ids.tobytes()}.items():
        (folder / name).write_bytes(data)

    def entry(name):
        return {"file": name, "sha256": hashlib.sha256((folder / name).read_bytes()).hexdigest()}

    manifest = {
        **{"format": 1, "polylm": "0", "settings": {}, "sources": [], "words": 10 * n_texts, "dtype": "<u2"},
        "vocabulary": {"words": len(names), "polysemous": n_with, "senses": sum(senses)},
        "shards": [{**entry("shard-00000.bin"), "ids": len(ids)}],
        "files": [entry(name) for name in files],
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


@pytest.fixture(scope="session")
def corpus(tmp_path_factory):
    return write_corpus(tmp_path_factory.mktemp("planted") / "corpus")


def settings(**changes):
    return TrainConfig.flat(
        **{
            **{
                "steps": 20,
                "reading_share": 0.0,
                "batch_tokens": 32 * 22,
                "learning_rate": 1e-2,
                "log_every": 5,
                "checkpoint_steps": 4,
            },
            **{
                "confusion_tokens": 2000,
                "substitute_tokens": 2000,
                "split_vectors": 16,
                "evaluate_every": 0.25,
                "held_out": 0.02,
                **changes,
            },
        }
    )


def same_weights(first, second):
    """Whether two folders hold the same model, to the bit."""
    a, b = (load_file(folder / "model.safetensors") for folder in (first, second))
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)
