"""Batches: every window once an epoch, targets as wanted, and nothing random but by seed and step."""

import pytest
import torch

from polylm.corpus.shards import PreparedCorpus
from polylm.errors import UserError
from polylm.model.inventory import SenseInventory
from polylm.symbols import LINE_ID, MASK_ID
from polylm.training.batches import Batches, Text, _chances
from polylm.training.distributed import Ranks
from tests.shared.corpora import settings

LENGTH = 22


def make(corpus, *, rank=0, n_ranks=1, **changes):
    prepared = PreparedCorpus(corpus)
    text = Text.load(prepared, changes.pop("held_out", 0.02), LENGTH, torch.device("cpu"))
    vocabulary, config = prepared.vocabulary(), settings(**changes)
    return Batches(
        text,
        config.batches,
        seed=config.seed,
        length=LENGTH,
        inventory=SenseInventory(vocabulary.n_senses, excluded=[0, MASK_ID, LINE_ID]),
        device=torch.device("cpu"),
        counts=vocabulary.counts,
        ranks=Ranks(rank, n_ranks),
    )


def test_an_epoch_has_every_window_once(corpus):
    batches = make(corpus)
    starts = torch.cat([batches.starts(step) for step in range(2 * batches.n_windows // batches.n_rows + 1)])
    epoch, following = starts[: batches.n_windows], starts[batches.n_windows : 2 * batches.n_windows]
    assert len(epoch.unique()) == batches.n_windows
    assert (epoch.sort().values.diff() == LENGTH).all()  # no two overlap
    assert len(following.unique()) == batches.n_windows
    assert not torch.equal(following, epoch)
    assert int(starts.max()) + LENGTH <= len(batches.text.train)


def test_a_step_is_a_function_of_its_number(corpus):
    """Whatever was made before: this is what makes a resumed run the same run."""
    first, second = make(corpus), make(corpus)
    for step in (0, 1, 2):
        list(first.step(step, 0.15))
    for a, b in zip(first.step(150, 0.15), second.step(150, 0.15), strict=True):
        assert torch.equal(a.masked, b.masked)
        assert torch.equal(a.targets, b.targets)
    (a,), (b,) = first.step(3, 0.15), make(corpus, seed=1).step(3, 0.15)
    assert not torch.equal(a.words, b.words)


def test_ranks_and_parts_share_one_batch(corpus):
    (whole,) = make(corpus).step(7, 0.15)
    parts = [part for rank in (0, 1) for part in make(corpus, rank=rank, n_ranks=2, accumulate=2).step(7, 0.15)]
    for field in ("masked", "words"):
        assert torch.equal(torch.cat([getattr(part, field) for part in parts]), getattr(whole, field))
    offset = 0
    targets = []
    for part in parts:
        targets.append(part.targets + offset)
        offset += part.words.numel()
        assert part.totals == whole.totals
    assert torch.equal(torch.cat(targets), whole.targets)


def test_targets_and_masks(corpus):
    batches = make(corpus, batch_tokens=22 * 1000)
    (batch,) = batches.step(0, 0.15)
    at = batch.words.flatten()[batch.targets]
    now = batch.masked.flatten()[batch.targets]
    used = batch.weights > 0
    assert (at[used] != LINE_ID).all()
    assert used.float().mean() * batches.n_targets / LENGTH == pytest.approx(0.15, abs=0.03)
    share = [(now[used] == MASK_ID).float().mean(), (now[used] == at[used]).float().mean()]
    assert share == pytest.approx([0.8, 0.1], abs=0.03)
    untouched = torch.ones(batch.words.numel(), dtype=torch.bool)
    untouched[batch.targets[used]] = False
    assert torch.equal(batch.masked.flatten()[untouched], batch.words.flatten()[untouched])
    assert now.min() >= MASK_ID
    polysemous = batches.polysemous[at[used]].sum()
    assert (int(batch.totals[0]), int(batch.totals[1])) == (int(used.sum()), int(polysemous))


def test_masking_rate_falls_within_one_shape(corpus):
    batches = make(corpus, mask_rate=0.15, mask_rate_start=0.3)
    shares = []
    for rate in (0.3, 0.15):
        weights = [batch.weights for step in range(40) for batch in batches.step(step, rate)]
        assert {len(w) for w in weights} == {batches.n_rows * batches.n_targets}
        shares.append(float(torch.stack(weights).mean()) * batches.n_targets / LENGTH)
    assert shares == pytest.approx([0.3, 0.15], abs=0.02)


def test_lines_can_be_respected(corpus):
    (batch,) = make(corpus, respect_lines=True).step(0, 0.15)
    row, segments = batch.words[0].tolist(), batch.segments[0].tolist()
    expected, number = [], 1
    for word in row:
        expected.append(number)
        number += word == LINE_ID
    assert segments == expected


def test_held_out_text_is_not_trained_on(corpus):
    whole = make(corpus, held_out=0.0)
    batches = make(corpus, held_out=0.1)
    assert len(batches.text.held) + len(batches.text.train) == len(whole.text.train)
    assert len(batches.text.held) / len(whole.text.train) == pytest.approx(0.1, abs=0.03)
    (first, *_), (second, *_) = (list(batches.held_out(2000)) for _ in range(2))
    assert torch.equal(first.masked, second.masked)


def test_what_does_not_fit(corpus):
    with pytest.raises(UserError, match="cannot be cut into 3 equal parts"):
        make(corpus, n_ranks=3)
    with pytest.raises(UserError, match="too few for windows of 100000"):
        Text.load(PreparedCorpus(corpus), 0.1, 100_000, torch.device("cpu"))


def test_common_words_are_targets_less_often(corpus):
    """With a subsample a word above it is a target by the root of its frequency: here a sixteenth of the others."""
    batches = make(corpus)
    words = torch.arange(batches.n_words)
    common = words % 2 == 0  # as if each of them had 256 times the count of the others
    batches.chances = _chances(1e-6, torch.where(common, 256_000, 1000), batches.predicted)
    assert float(batches.chances[20] / batches.chances[21]) == pytest.approx(1 / 16)
    seen, chosen = torch.zeros(batches.n_words), torch.zeros(batches.n_words)
    for step in range(100):
        for batch in batches.step(step, 0.15):
            seen += torch.bincount(batch.words.flatten(), minlength=batches.n_words)
            chosen += torch.bincount(batch.words.flatten()[batch.targets], minlength=batches.n_words)
    common, other = common & batches.predicted, ~common & batches.predicted
    rates = [float(chosen[which].sum() / seen[which].sum()) for which in (common, other)]
    assert rates[0] < rates[1] / 8  # not quite a sixteenth: a short window runs out of the others
    assert int(chosen.sum()) == 100 * batches.n_rows * batches.n_targets


def test_without_a_subsample_all_words_are_alike(corpus):
    assert make(corpus, subsample=None).chances is None


@pytest.mark.parametrize("respect_lines", [False, True])
def test_windows_in_pieces(corpus, respect_lines):
    """Whatever the number of devices; no line mark is a target, and windows that are not cut are what they were."""
    batches = make(corpus, respect_lines=respect_lines)
    batches.ends = torch.arange(batches.n_words) % 5 == 0
    (batch,) = batches.step(7, 0.15, pieces=0.5)
    (plain,) = batches.step(7, 0.15)
    parts = []
    for rank in (0, 1):
        other = make(corpus, rank=rank, n_ranks=2, respect_lines=respect_lines)
        other.ends = batches.ends
        parts += other.step(7, 0.15, pieces=0.5)
    for field in ("masked", "words", "segments"):
        assert torch.equal(torch.cat([getattr(part, field) for part in parts]), getattr(batch, field))
    cut = (batch.words != plain.words).any(dim=1)
    assert 0 < int(cut.sum()) < len(cut)
    assert batch.words.shape == batch.segments.shape == plain.words.shape
    if respect_lines:
        assert torch.equal(batch.segments[~cut], plain.segments[~cut])
    else:
        assert (batch.segments[~cut] == 1).all()
    assert (batch.words.flatten()[batch.targets[batch.weights > 0]] != LINE_ID).all()
