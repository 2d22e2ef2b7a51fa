"""Which sense does each word of a text have? q^R, q^D, q^P, or the last two.

q^R and q^D need one pass over the text as it is: q^D of C^D, q^R of both encoders, which must have been taught it. For
q^R the last layer computes the words of several senses alone.

q^P needs the word masked: every fourth word of several senses is
masked at a time, which is about the rate of training (more than half of the words of English text have several), so
four passes read a text. Where only some words are asked about, only they are masked: one word takes one pass.

A whole text with both is read with one pass of C^D: what it makes of the words that are not masked is used in all four
passes of C^P. (The development set has AVG 71.2 so and 71.4 with C^D in each pass; 99 % of the senses are the same.)
"""

from typing import NamedTuple

import torch
from torch import Tensor

from polylm.model.polylm import PolyLM
from polylm.reading.layers import AUTO, ReadOut

EVERY = 4


def tokens_together(device: torch.device) -> int:
    """How many ids are read together: as many as keep the device busy, and no more than it holds."""
    return {"cpu": 2048, "cuda": 65536}.get(device.type, 16384)


@torch.no_grad()
def sense_distributions(
    model: PolyLM, words: Tensor, mask: int, *, read_out: ReadOut = AUTO, segments: Tensor | None = None
) -> Tensor:
    """(B, T, k) for texts (B, T); `mask` is the id of [MASK]."""
    log_q, at = _of_one_sense(model, words)
    q = log_q.exp()
    if len(at):
        read = distributions_at(model, words, at, mask, read_out=read_out, segments=segments)
        q.view(-1, q.shape[-1])[at] = read.to(q.dtype)
    return q


def _of_one_sense(model: PolyLM, words: Tensor) -> tuple[Tensor, Tensor]:
    """log q (B, T, k) of words that have one sense; and the places (n,) among B * T of those that have several."""
    several = model.inventory.n_senses[words] > 1
    rows, own = model.inventory.rows(words)
    log_q = torch.full(rows.shape, -torch.inf, device=words.device).masked_fill(own & ~several.unsqueeze(-1), 0.0)
    return log_q, several.flatten().nonzero().flatten()


@torch.no_grad()
def distributions_at(
    model: PolyLM, words: Tensor, at: Tensor, mask: int, *, read_out: ReadOut = AUTO, segments: Tensor | None = None
) -> Tensor:
    """q (n, k) of all words of several senses, which are at the places `at` (n,) among B * T."""
    return _of_several(model, words, at, mask, read_out.of_network(model), segments).exp()


def _of_several(
    model: PolyLM, words: Tensor, at: Tensor, mask: int, read_out: ReadOut, segments: Tensor | None
) -> Tensor:
    """log q."""
    asked, n = words.flatten()[at], len(at)
    row, position = at // words.shape[1], at % words.shape[1]
    if read_out.needed == "prediction":
        return model.own_log_probs(asked, _masked_outputs(model, words, row, position, mask, segments))
    some_more = _some_more(at)
    if read_out.needed == "disambiguation":
        more = some_more // words.shape[1], some_more % words.shape[1]
        return model.disambiguation_log_probs(words, segments, at=more)[:n]
    x_p, log_q_d = model.prediction_inputs(words, segments, at=some_more)
    if read_out.needed == "reading":
        return model.own_log_probs(asked, model.outputs_at(words, some_more, segments, x_p=x_p)[:n])
    assert log_q_d is not None
    log_q_p = model.own_log_probs(asked, _masked_outputs(model, words, row, position, mask, segments, x_p))
    return (read_out.weight * log_q_p + (1 - read_out.weight) * log_q_d[:n]).log_softmax(dim=-1)


def _some_more(at: Tensor) -> Tensor:
    """Places, and the first of all again: so there are few shapes, for each of which something is made and kept."""
    return torch.cat((at, at.new_zeros(-len(at) % 64)))


def _outputs_at(
    model: PolyLM, words: Tensor, at: Tensor, segments: Tensor | None = None, x_p: Tensor | None = None
) -> Tensor:
    """y^P (n, d) at places."""
    return model.outputs_at(words, _some_more(at), segments, x_p=x_p)[: len(at)]


class Reading(NamedTuple):
    """What is read of n words."""

    q: Tensor  # (n, k) by the read-out asked for
    y_p: Tensor | None  # (n, d) y^P where the word was masked; none if it was not


@torch.no_grad()
def read_places(
    model: PolyLM,
    words: Tensor,
    row: Tensor,
    position: Tensor,
    mask: int,
    *,
    read_out: ReadOut = AUTO,
    segments: Tensor | None = None,
    output: bool = False,
    turns: int = EVERY,
    several: Tensor | None = None,
) -> Reading:
    """The words at (row, position), each (n,), of texts (B, T). `output`: y^P too, whatever the read-out.

    The words of one text are masked in so many turns. `several` (m,): the places among B * T of all words of several
    senses, if they are known; a GPU that has to look for them must be waited for.
    """
    read_out = read_out.of_network(model)
    focus = words[row, position]  # (n,)
    log_q, y_p = None, None
    if read_out.needed in ("both", "prediction") or output:
        y_p = _masked_outputs(model, words, row, position, mask, segments, turns=turns)
        log_q = model.own_log_probs(focus, y_p)
    if read_out.needed == "reading":
        if several is None:
            several = (model.inventory.n_senses[words] > 1).flatten().nonzero().flatten()
        x_p, _ = model.prediction_inputs(words, segments, at=_some_more(several))
        outputs = _outputs_at(model, words, row * words.shape[1] + position, segments, x_p)
        log_q = model.own_log_probs(focus, outputs)
    elif read_out.needed != "prediction":
        log_q_d = model.disambiguation_log_probs(words, segments, at=(row, position))
        if read_out.needed == "disambiguation" or log_q is None:
            log_q = log_q_d
        else:
            log_q = read_out.weight * log_q + (1 - read_out.weight) * log_q_d
    assert log_q is not None
    return Reading(log_q.softmax(dim=-1), y_p)


def _masked_outputs(
    model: PolyLM,
    words: Tensor,
    row: Tensor,
    position: Tensor,
    mask: int,
    segments: Tensor | None,
    x_p: Tensor | None = None,
    turns: int = EVERY,
) -> Tensor:
    """y^P (n, d) of words that are masked, those of one text in so many turns.

    A text in one turn is a text of its own: those of all turns are read together, some at a time. `x_p` (B, T, d) is
    what C^D makes of the text as it is, if that will do for the words that are not masked.
    """
    asked = torch.zeros_like(words, dtype=torch.bool)
    asked[row, position] = True
    turn = ((torch.cumsum(asked, dim=1) - 1) % turns)[row, position]  # (n,)
    reading, member = torch.unique(turn * len(words) + row, return_inverse=True)  # (m,), (n,)
    of_text = reading % len(words)
    outputs = model.embeddings.new_empty(len(row), model.config.d_model)
    per_part = max(tokens_together(words.device) // words.shape[1], 1)
    for first in range(0, len(reading), per_part):
        part = slice(first, first + per_part)
        members = ((member >= first) & (member < first + per_part)).nonzero().flatten()
        masked = words[of_text[part]]  # (some, T)
        places = (member[members] - first) * words.shape[1] + position[members]
        masked.view(-1)[places] = mask
        own_segments = None if segments is None else segments[of_text[part]]
        inputs = None
        if x_p is not None:
            inputs = x_p[of_text[part]]  # a copy
            inputs.view(-1, inputs.shape[-1])[places] = model.embeddings[model.inventory.first[mask]].to(inputs.dtype)
        outputs[members] = _outputs_at(model, masked, places, own_segments, inputs).to(outputs.dtype)
    return outputs
