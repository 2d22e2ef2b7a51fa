import pytest
import torch

from polylm.model.inventory import SenseInventory
from polylm.training.split import Clusters, cluster, phase_one_model, split
from tests.shared.corpora import TINY

INVENTORY = SenseInventory([1, 1, 3, 2], excluded=[0])  # rows 0 | 1 | 2-4 | 5-6


def planted(n=60, d=32, noise=0.05):
    """Occurrences of two words around three and two places; the second was met less often."""
    generator = torch.Generator().manual_seed(0)
    places = torch.randn(2, 3, d, generator=generator)
    of = torch.arange(n) % 3
    vectors = torch.stack((places[0, of], places[1, of % 2])) + noise * torch.randn(2, n, d, generator=generator) + 1
    counts = torch.tensor([n, 40])
    vectors[1, 40:] = 99.0  # not met: no vector at all
    return places + 1, vectors, counts


def test_clusters_are_the_planted_ones():
    places, vectors, counts = planted()
    found = cluster(vectors, counts, torch.tensor([3, 2]), lead=2.0, seed=0)
    for word, k in enumerate((3, 2)):
        mean = vectors[word, : counts[word]].mean(dim=0)
        torch.testing.assert_close(found.means[word], mean)
        distances = torch.cdist(places[word, :k], found.centres[word, :k] + mean)
        assert (distances.min(dim=1).values < 0.2).all()
        assert sorted(distances.argmin(dim=1).tolist()) == list(range(k))
        assert float(found.shares[word].sum()) == pytest.approx(1)
    assert found.shares[0].tolist() == pytest.approx([1 / 3] * 3, abs=0.01)
    assert found.shares[1, 2] == 0
    assert not found.centres[1, 2].any()


def test_the_best_sense_leads_by_so_many_nats():
    _, vectors, counts = planted()
    found = cluster(vectors, counts, torch.tensor([3, 2]), lead=2.0, seed=0)
    own = vectors[0] - found.means[0]
    scores = found.scales[0] * (own @ found.centres[0].T - (found.centres[0] ** 2).sum(dim=1) / 2)
    assert float((scores.amax(dim=1) - scores.mean(dim=1)).mean()) == pytest.approx(2.0, rel=1e-3)


def test_senses_are_the_mixture_of_the_clusters():
    """As the formulas in the module say, one sense at a time."""
    torch.manual_seed(0)
    single = phase_one_model(TINY, INVENTORY)
    with torch.no_grad():
        single.bias.normal_()
    centres = 0.01 * torch.randn(2, 3, 32)
    centres[1, 2] = 0
    shares = torch.tensor([[0.5, 0.3, 0.2], [0.9, 0.1, 0.0]])
    means, scales = torch.randn(2, 32), torch.tensor([2.0, 3.0])
    model = split(single, TINY, INVENTORY, Clusters(centres, shares, means, scales))
    for row, word in enumerate((0, 1)):
        assert torch.equal(model.embeddings[row], single.embeddings[word])
        assert model.bias[row] == single.bias[word]
    row = 2
    for p, (word, k) in enumerate(((2, 3), (3, 2))):
        for sense in range(k):
            c, t, share = centres[p, sense], scales[p], shares[p, sense]
            torch.testing.assert_close(model.embeddings[row], single.embeddings[word] + t * c)
            bias = single.bias[word] + share.log() - t * (c @ c) / 2 - t * (c @ means[p])
            torch.testing.assert_close(model.bias[row], bias)
            torch.testing.assert_close(model.lambda_logits[row], share.log())
            assert model.share_p[row] == model.share_d[row] == share
            row += 1


@torch.no_grad()
def test_a_word_is_as_likely_as_before():
    torch.manual_seed(0)
    single = phase_one_model(TINY, INVENTORY)
    _, vectors, counts = planted()
    found = cluster(vectors, counts, torch.tensor([3, 2]), lead=0.1, seed=0)
    model = split(single, TINY, INVENTORY, found)
    own = vectors[0]
    before = own @ single.embeddings[2] + single.bias[2]
    after = torch.logsumexp(own @ model.embeddings[2:5].T + model.bias[2:5], dim=1)
    assert float((after - before).abs().max()) < 0.2


def test_the_disambiguation_layer_starts_as_the_first_blocks():
    torch.manual_seed(0)
    single = phase_one_model(TINY, INVENTORY)
    model = split(single, TINY, INVENTORY, None)
    theirs = single.c_p.state_dict()
    for name, tensor in model.c_p.state_dict().items():
        assert torch.equal(tensor, theirs[name])
    shared = [name for name in model.c_d.state_dict() if name in theirs]
    assert shared
    for name in shared:
        assert torch.equal(model.c_d.state_dict()[name], theirs[name])
