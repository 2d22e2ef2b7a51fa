"""How fast is text tagged here? From loading to a long text, the reading of text included; beside BERT-base.

The text is made of the model's own words, drawn by their counts into sentences of twenty, or is a file. BERT-base has
random weights and is given one piece a word, which flatters it.
"""

import resource
import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import cycle
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from polylm.errors import UserError
from polylm.reading.layers import Layers, ReadOut

if TYPE_CHECKING:
    from polylm.device import Device
    from polylm.explore.model import Model
    from polylm.reading.precision import Compute

SENTENCE = 20  # words


def measure(
    path: Path | None = None,
    sentences: list[str] | None = None,
    *,
    device: "Device" = "auto",
    precision: "Compute" = "auto",
    seconds: float = 10.0,
) -> dict[str, Any]:
    """Times of one process; peak memory is read before BERT is made."""
    if sentences is not None and not sentences:
        raise UserError("there is no text to measure on")
    started = time.perf_counter()
    import torch

    from polylm.explore.model import load
    from polylm.reading.precision import precision_of

    model = load(path, device=device, precision=precision)
    loading = time.perf_counter() - started
    if not sentences:
        sentences = _sentences(model.vocabulary.words, model.vocabulary.counts, 2000)
    first = time.perf_counter()
    model.tag(sentences[0])
    result: dict[str, Any] = {
        "load_s": round(loading, 2),
        "first_sentence_s": round(time.perf_counter() - first, 3),
        "device": model.device.type,
        "precision": precision_of(model.network),
        "threads": torch.get_num_threads(),
        "senses": model.network.inventory.n_rows,
    }
    short = [" ".join(sentence.split()[:SENTENCE]) for sentence in sentences[:30]]
    result["read_outs"] = [name for name in ReadOut.names_of(model.network) if name != "prediction"] or ["prediction"]
    for read_out in result["read_outs"]:
        times = [_timed(partial(model.tag, sentence, read_out=read_out)) for sentence in short]
        result[f"sentence_{read_out}_ms"] = round(1000 * median(times), 1)
        result[f"words_per_s_{read_out}"] = round(_rate(model, sentences, read_out, seconds))
    unit = 1 if sys.platform == "darwin" else 1024  # bytes there, kilobytes elsewhere
    result["peak_memory_mb"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20)
    result["bert_base_words_per_s"] = _bert(model.device, seconds)
    return result


def rows_for_people(result: dict[str, Any]) -> list[list[str]]:
    """What was measured, for people."""
    bert = result["bert_base_words_per_s"]
    return [
        ["load the model, torch included", f"{result['load_s']:.2f} s"],
        *(
            [f"a sentence of {SENTENCE} words, {read_out}", f"{result[f'sentence_{read_out}_ms']:.1f} ms"]
            for read_out in result["read_outs"]
        ),
        *(
            [f"a long text, {read_out}", f"{result[f'words_per_s_{read_out}']:,} words/s"]
            for read_out in result["read_outs"]
        ),
        ["peak memory", f"{result['peak_memory_mb']:,} MB"],
        ["BERT-base, the same number of words", f"{bert:,} words/s" if bert else "transformers is not installed"],
        ["where", f"{result['device']}, {result['precision']}, {result['threads']} threads"],
    ]


def _sentences(words: list[str], counts: list[int], n: int) -> list[str]:
    rng = np.random.default_rng(0)
    usable = [(word, count) for word, count in zip(words, counts, strict=True) if word.isalpha()]
    chance = np.array([count for _, count in usable], dtype=np.float64)
    drawn = rng.choice(len(usable), size=(n, SENTENCE), p=chance / chance.sum())
    return [" ".join(usable[index][0] for index in row) + "." for row in drawn]


def _timed(what: Callable[[], object]) -> float:
    started = time.perf_counter()
    what()
    return time.perf_counter() - started


def _rate(model: "Model", sentences: list[str], read_out: Layers, seconds: float) -> float:
    """Words a second of one long text of paragraphs, five sentences each, an object for every word; after a warm-up."""
    paragraphs = [" ".join(sentences[first : first + 5]) for first in range(0, len(sentences), 5)]
    list(model.tag_many(paragraphs[:20], read_out=read_out))
    done, started = 0, time.perf_counter()
    for block in model.tag_columns(cycle(paragraphs), read_out=read_out):
        done += sum(map(len, block.tokens()))
        if time.perf_counter() - started > seconds:
            break
    return done / (time.perf_counter() - started)


def _bert(device: Any, seconds: float) -> int | None:
    """Words a second of BERT-base on windows of 128, as if each word were one piece."""
    try:
        from transformers import BertConfig, BertModel
    except ImportError:
        return None
    import torch

    network = BertModel(BertConfig()).to(device).eval()
    ids = torch.randint(1000, 20000, (16, 128), device=device)
    with torch.no_grad():
        network(ids)
        done, started = 0, time.perf_counter()
        while time.perf_counter() - started < seconds:
            network(ids)
            if device.type == "cuda":
                torch.cuda.synchronize()
            done += ids.numel()
    return round(done / (time.perf_counter() - started))
