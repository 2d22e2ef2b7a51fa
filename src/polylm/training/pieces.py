"""Some windows read as short texts of their own, so that a network which learns from long windows can read a sentence.

Training windows run over sentences and lines alike. What people ask about is often one sentence, between two line
marks and with nothing around it. So a share of the windows is cut at ends of sentences: each piece is a segment, stands
between line marks, as a text does that is read, and sees itself alone. (The first begins where its window does, and
the last ends with it.)
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from polylm.symbols import LINE, LINE_ID

SENTENCE_ENDS = (LINE, ".", "?", "!", "…", "。", "？", "！", "।")


def sentence_ends(vocabulary: Mapping[str, int], device: torch.device) -> Tensor:
    """(V,) after which words a text may end."""
    ends = torch.zeros(len(vocabulary), dtype=torch.bool)
    ends[[vocabulary[mark] for mark in SENTENCE_ENDS if mark in vocabulary]] = True
    return ends.to(device)


def cut_windows(
    words: Tensor, ends: Tensor, share: float, generator: torch.Generator, segments: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Cut this share of windows (B, T), each at all of its line marks and at some of its sentences' ends.

    Gives the words and which piece of its window each belongs to, from 1; both (B, T).

    How many sentences a piece has is drawn for each window. What no longer fits for the new line marks is left out.
    Windows that are not cut keep their `segments`, or are one.
    """
    n, length = words.shape
    device = words.device
    is_cut = torch.rand((n, 1), generator=generator, device=device) < share
    rate = torch.rand((n, 1), generator=generator, device=device)
    lots = torch.rand(words.shape, generator=generator, device=device)
    is_line = words == LINE_ID
    ends_here = ends[words] & (lots < rate)
    ends_here[:, :-1] &= ~is_line[:, 1:]  # a line mark that follows does as well
    cuts = is_cut & (is_line | ends_here)  # (B, T): a piece ends here
    marks = cuts.to(torch.int64) * 2 - (cuts & is_line).to(torch.int64)  # new: one that ends, one that begins
    place = torch.arange(length, device=device) + torch.cumsum(marks, dim=1) - marks + is_cut  # where each word goes
    room = length + 1  # the last column is for what does not fit
    placed = words.new_full((n, room), LINE_ID).scatter_(1, place.clamp(max=length), words)
    begins = torch.zeros(n, room, dtype=torch.int64, device=device)
    begins.scatter_add_(1, (place + marks).clamp(max=length), cuts.to(torch.int64))
    pieces = 1 + torch.cumsum(begins[:, :length], dim=1)
    return placed[:, :length], pieces if segments is None else torch.where(is_cut, pieces, segments)
