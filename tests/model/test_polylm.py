import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from polylm.errors import UserError
from polylm.model.config import ModelConfig
from polylm.model.contextualizer import register_contextualizer
from polylm.model.inventory import SenseInventory
from polylm.model.polylm import PolyLM
from polylm.model.pruning import dead_senses, order_senses, pruned
from tests.model import reference
from tests.shared.networks import EXCLUDED, N_SENSES, make

TEXTS = torch.tensor([[2, 3, 4, 5, 6, 7], [5, 5, 2, 7, 3, 4]])
MASKED = torch.tensor([[2, 1, 4, 1, 6, 7], [5, 1, 2, 2, 3, 4]])
TARGETS = torch.tensor([1, 3, 7, 9, 11])  # masked, masked, masked, replaced, kept
PAIRS = [(0, 1), (0, 3), (1, 1), (1, 3), (1, 5)]


@pytest.mark.parametrize("contextualizer", ["transformer", "bert", "lstm"])
@pytest.mark.parametrize("normalisation", ["polysemous", "targets"])
@pytest.mark.parametrize("disambiguation", [True, False])
def test_losses_are_the_papers(contextualizer, normalisation, disambiguation):
    model = make(contextualizer=contextualizer, normalisation=normalisation, disambiguation=disambiguation).eval()
    expected = reference.all_losses(
        model.embeddings, model.bias, model.lambda_logits, N_SENSES, EXCLUDED, model.c_d, model.c_p,
        MASKED.tolist(), TEXTS.tolist(), PAIRS, 1.5, 0.3, normalisation,
    )  # fmt: skip
    found = model(MASKED, TEXTS, TARGETS, r=torch.tensor(1.5, dtype=torch.float64), lambda_m=0.3)
    for mine, theirs in zip((found.lm, found.distinctness, found.match), expected, strict=True):
        torch.testing.assert_close(mine, torch.as_tensor(theirs, dtype=torch.float64), rtol=1e-6, atol=1e-12)
    torch.testing.assert_close(found.total, sum(expected), rtol=1e-6, atol=1e-12)
    gradients = torch.autograd.grad(found.total, list(model.parameters()))
    expected_gradients = torch.autograd.grad(sum(expected), list(model.parameters()))
    for mine, theirs in zip(gradients, expected_gradients, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-6, atol=1e-10)


def test_probabilities_are_the_papers():
    model = make().eval()
    q_d = model.disambiguation_probs(TEXTS)
    q_p = model.prediction_probs(MASKED, TEXTS)
    y_p = model.read(MASKED).y_p
    p = model.sense_probs(y_p)
    words = model.word_log_probs(y_p, TEXTS)
    arguments = (model.embeddings, model.bias, model.lambda_logits, N_SENSES, model.c_d, model.c_p)
    for text in range(2):
        expected_q_d, _ = reference.reading(*arguments, TEXTS[text].tolist())
        _, expected_y = reference.reading(*arguments, MASKED[text].tolist())
        for place, word in enumerate(TEXTS[text].tolist()):
            k = N_SENSES[word]
            close(q_d[text, place, :k], torch.stack(expected_q_d[place]))
            assert (q_d[text, place, k:] == 0).all()
            own = reference.own_distribution(model.embeddings, model.bias, N_SENSES, word, expected_y[place])
            close(q_p[text, place, :k], torch.stack(own))
            every = reference.sense_distribution(model.embeddings, model.bias, {0, 1}, expected_y[place])
            close(p[text, place, 2:], torch.stack(list(every.values())))
            assert (p[text, place, :2] == 0).all()
            of_word = sum(every[s] for s in reference.own_rows(N_SENSES, word))
            close(words[text, place].exp(), of_word)
    assert model.word_log_probs(y_p, MASKED)[0, 1] == -torch.inf


def close(mine, theirs):
    torch.testing.assert_close(mine, theirs, rtol=1e-6, atol=1e-12)


def test_gradients_by_finite_differences():
    model = make(d_model=4, d_filter=4, n_heads=1, n_layers_p=1).eval()
    names = [name for name, _ in model.named_parameters()]

    def total(*values):
        state = dict(zip(names, values, strict=True))
        return torch.func.functional_call(model, state, (MASKED, TEXTS, TARGETS), {"r": 1.4, "lambda_m": 0.0}).total

    assert torch.autograd.gradcheck(
        total, tuple(p.detach().requires_grad_() for p in model.parameters()), fast_mode=True
    )


@given(st.integers(0, 10**6), st.floats(1.01, 3))
def test_appendix_a(seed, r):
    """The gradient of J_LM + J_D at a target's own scores is p - q_sharp."""
    from polylm.model.loss import losses

    torch.manual_seed(seed)
    scores = (2 * torch.randn(9, dtype=torch.float64)).requires_grad_()  # senses 2 to 4 are the target's
    own, log_z = scores[2:5].unsqueeze(0), torch.logsumexp(scores, 0, keepdim=True)
    found = losses(own, log_z, None, torch.tensor([True]), r=r, lambda_m=0.0, normalisation="targets")
    (gradient,) = torch.autograd.grad(found.total, scores)
    expected = scores.softmax(0).detach()
    expected[2:5] -= (r * scores[2:5]).softmax(0).detach()
    torch.testing.assert_close(gradient, expected, rtol=1e-9, atol=1e-12)


def test_match_loss_teaches_the_disambiguation_layer_alone():
    from polylm.model.loss import losses

    own = torch.randn(3, 4, requires_grad=True)
    q_d = torch.randn(3, 4, requires_grad=True)
    found = losses(
        own, torch.logsumexp(own, -1), q_d.log_softmax(-1), torch.ones(3, dtype=torch.bool), r=1.0, lambda_m=1.0
    )
    d_own, d_q = torch.autograd.grad(found.match, (own, q_d), allow_unused=True)
    assert d_own is None or not d_own.any()
    assert d_q.abs().sum() > 0


@pytest.mark.parametrize(("name", "millions"), [("small", 22.8), ("base", 53.1), ("large", 89.0)])
def test_parameter_counts_at_the_papers_vocabulary(name, millions):
    n_senses = [8] * 10_143 + [1] * (86_000 - 10_143)
    assert sum(n_senses) == 157_001
    inventory = SenseInventory(n_senses)
    with torch.device("meta"):
        model = PolyLM(getattr(ModelConfig, name)(), inventory)
    n_parameters = sum(parameter.numel() for parameter in model.parameters())
    assert abs(n_parameters / 1e6 - millions) < 0.01 * millions


@settings(max_examples=40)
@given(st.integers(0, 1000), st.permutations(range(4)))
def test_permuting_senses_permutes_outputs(seed, order):
    """Word 5 has four senses, rows 7 to 10."""
    model, permuted = make(seed), make(seed)
    rows = torch.arange(sum(N_SENSES))
    rows[8:12] = 8 + torch.tensor(order)
    assert reference.own_rows(N_SENSES, 5) == [8, 9, 10, 11]
    with torch.no_grad():
        for name in ("embeddings", "bias", "lambda_logits"):
            getattr(permuted, name).copy_(getattr(model, name)[rows])
    for first, second in zip(
        model.eval()(MASKED, TEXTS, TARGETS, r=1.3), permuted.eval()(MASKED, TEXTS, TARGETS, r=1.3), strict=True
    ):
        torch.testing.assert_close(first, second)
    q, q_permuted = model.disambiguation_probs(TEXTS)[0, 3], permuted.disambiguation_probs(TEXTS)[0, 3]
    torch.testing.assert_close(q[torch.tensor(order)], q_permuted)


@settings(max_examples=40)
@given(st.integers(0, 1000), st.sampled_from([2, 3, 5, 6]))
def test_a_sense_that_cannot_occur_changes_nothing(seed, word):
    model = make(seed).eval()
    more = [n + (w == word) for w, n in enumerate(N_SENSES)]
    larger = make(seed, more).eval()
    new = reference.own_rows(more, word)[-1]
    old = [s for s in range(sum(more)) if s != new]
    with torch.no_grad():
        for name, impossible in (("embeddings", 1.0), ("bias", -torch.inf), ("lambda_logits", -torch.inf)):
            getattr(larger, name)[old] = getattr(model, name)
            getattr(larger, name)[new] = impossible
        for part in ("c_d", "c_p"):
            getattr(larger, part).load_state_dict(getattr(model, part).state_dict())
    before, after = (m(MASKED, TEXTS, TARGETS, r=1.5) for m in (model, larger))
    torch.testing.assert_close(before.lm, after.lm)
    torch.testing.assert_close(before.distinctness * before.n_polysemous, after.distinctness * after.n_polysemous)
    after.total.backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in larger.parameters())
    n = model.inventory.max_senses
    torch.testing.assert_close(model.disambiguation_probs(TEXTS), larger.disambiguation_probs(TEXTS)[..., :n])


@pytest.mark.parametrize("contextualizer", ["transformer", "bert", "lstm"])
def test_padding_packing_and_company_change_nothing(contextualizer):
    model = make(contextualizer=contextualizer).eval()
    a, b = TEXTS[0], TEXTS[1][:4]
    alone = [model.prediction_probs(text[None], text[None])[0] for text in (a, b)]
    padded = torch.zeros(2, 9, dtype=torch.int64)
    padded[0, :6], padded[1, :4] = a, b
    segments = (padded > 0).long()
    together = model.prediction_probs(padded, padded, segments)
    torch.testing.assert_close(together[0, :6], alone[0])
    torch.testing.assert_close(together[1, :4], alone[1])
    packed = torch.cat((b, a, torch.zeros(2, dtype=torch.int64)))[None]
    numbers = torch.tensor([[1] * 4 + [2] * 6 + [0] * 2])
    together = model.prediction_probs(packed, packed, numbers)
    if contextualizer == "transformer":  # rotary positions are relative: where a segment stands does not matter
        torch.testing.assert_close(together[0, 4:10], alone[0])
    torch.testing.assert_close(together[0, :4], alone[1])
    torch.testing.assert_close(together[0, 4:10], alone[0])


def test_targets_with_weight_zero_do_not_count():
    model = make().eval()
    few = model(MASKED, TEXTS, TARGETS[:3], r=1.2)
    weights = torch.tensor([1, 1, 1, 0, 0], dtype=torch.float64)
    weighted = model(MASKED, TEXTS, TARGETS, r=1.2, weights=weights)
    for first, second in zip(few, weighted, strict=True):
        torch.testing.assert_close(first, second, check_dtype=False)


def test_any_contextualizer_fits():
    class Average(torch.nn.Module):
        def __init__(self, config, n_layers):
            super().__init__()
            self.linear = torch.nn.Linear(config.d_model, config.d_model)

        def forward(self, x, segments=None):
            return self.linear(x + x.mean(dim=1, keepdim=True))

    register_contextualizer("average", Average)
    make(contextualizer="average")(MASKED, TEXTS, TARGETS).total.backward()
    with pytest.raises(UserError, match="no contextualizer 'none'"):
        make(contextualizer="none")


def test_shares_follow_use_and_pruning_keeps_answers():
    model = make(3).train()
    with torch.no_grad():
        model.bias[10] = -60.0  # the third sense of word 5 is never meant
    for _ in range(600):
        with torch.no_grad():
            model(MASKED, TEXTS, TARGETS)
    model.eval()
    shares = model.shares()
    sums = torch.zeros(len(N_SENSES)).index_add_(0, model.inventory.word_of_sense, shares.float())
    torch.testing.assert_close(sums, torch.ones(len(N_SENSES)))
    dead = dead_senses(model)
    assert dead[10]
    assert not dead[[0, 1, 5, 12]].any()  # a word's only sense lives
    effective = model.effective_senses()
    assert (effective >= 1 - 1e-6).all()
    assert (effective <= torch.tensor(N_SENSES) + 1e-4).all()
    model.share_p.fill_(1)
    model.share_d.fill_(1)
    model.share_p[10] = model.share_d[10] = 0
    smaller = pruned(model)
    assert smaller.inventory.n_rows == sum(N_SENSES) - 1
    assert smaller.inventory.numbers[8:11].tolist() == [1, 2, 4]
    assert smaller.inventory.excluded == EXCLUDED
    assert smaller.offset_words.tolist() == [5]
    torch.testing.assert_close(smaller.word_vectors(), model.word_vectors())
    for read in (lambda m: m.prediction_probs(MASKED, TEXTS), lambda m: m.disambiguation_probs(TEXTS)):
        before, after = read(model), read(smaller)
        of_five = TEXTS == 5
        torch.testing.assert_close(before[of_five][:, [0, 1, 3]], after[of_five][:, :3])
        torch.testing.assert_close(before[~of_five][:, :3], after[~of_five][:, :3])
    again = pruned(smaller)
    assert again.inventory == smaller.inventory
    torch.testing.assert_close(again.word_vectors(), model.word_vectors())


def test_shares_are_running_means_of_both_layers():
    """One step, computed by hand: weight 0.005 an occurrence, targets of weight 0 left out, nothing in eval."""
    model = make(7).train()
    model.share_p.uniform_()
    model.share_d.uniform_()
    before_p, before_d = model.share_p.clone(), model.share_d.clone()
    weights = torch.tensor([1.0, 1, 1, 0, 1], dtype=torch.float64)
    q_p = model.eval().prediction_probs(MASKED, TEXTS).detach().flatten(0, 1)
    q_d = model.disambiguation_probs(TEXTS).detach().flatten(0, 1)
    model(MASKED, TEXTS, TARGETS, weights=weights)
    assert torch.equal(model.share_p, before_p)
    model.train()(MASKED, TEXTS, TARGETS, weights=weights)
    expected_p, expected_d = before_p.clone(), before_d.clone()
    counted = TARGETS[weights > 0].tolist()
    for word in {int(TEXTS.flatten()[t]) for t in counted}:
        places = [t for t in counted if TEXTS.flatten()[t] == word]
        keep = 0.995 ** len(places)
        for k, row in enumerate(reference.own_rows(N_SENSES, word)):
            expected_p[row] = keep * before_p[row] + (1 - keep) * q_p[places, k].mean()
            expected_d[row] = keep * before_d[row] + (1 - keep) * q_d[places, k].mean()
    torch.testing.assert_close(model.share_p, expected_p)
    torch.testing.assert_close(model.share_d, expected_d)
    both = (expected_p + expected_d) / 2
    own = reference.own_rows(N_SENSES, 5)
    torch.testing.assert_close(model.shares()[own], both[own] / both[own].sum())


def test_a_word_keeps_its_best_sense():
    model = make()
    model.share_p.fill_(1)
    model.share_d.fill_(1)
    dead = dead_senses(model, least=0.99)  # every sense of a polysemous word has less than that
    model.share_p[8] = 1.1
    assert dead_senses(model, least=0.99)[8:12].tolist() == [False, True, True, True]
    alive = model.inventory.word_of_sense[~dead].tolist()
    assert set(alive) == set(range(len(N_SENSES)))


def test_without_the_distinctness_loss():
    found = make(distinctness=False).eval()(MASKED, TEXTS, TARGETS, r=1.5)
    assert found.distinctness == 0
    torch.testing.assert_close(found.total, found.lm + found.match)
    assert make().eval()(MASKED, TEXTS, TARGETS, r=1.5).distinctness > 0


def test_parts_of_a_batch_add_up():
    model = make().eval()
    whole = model(MASKED, TEXTS, TARGETS, r=1.5)
    totals = (whole.n_targets, whole.n_polysemous)
    parts = [model(MASKED, TEXTS, part, r=1.5, totals=totals) for part in (TARGETS[:2], TARGETS[2:])]
    for name in ("total", "lm", "distinctness", "match"):
        torch.testing.assert_close(sum(getattr(part, name) for part in parts), getattr(whole, name))


def test_words_that_are_never_predicted_are_no_targets():
    model = make().eval()
    with torch.no_grad():
        model.bias[0] = 20.0
    texts = TEXTS.clone()
    texts[0, 1] = 0
    found = model(MASKED, texts, TARGETS, r=1.5)
    torch.testing.assert_close(found.total, model(MASKED, texts, TARGETS[1:], r=1.5).total)
    assert found.n_targets == 4


def test_nothing_to_learn_from_is_no_loss():
    model = make()
    for targets in (torch.zeros(0, dtype=torch.int64), torch.tensor([4])):  # none; a word of one sense
        found = model(MASKED, TEXTS, targets, r=1.5)
        found.total.backward()
        assert found.total.isfinite()
        assert found.distinctness == 0


def test_half_precision_never_gives_a_word_more_than_all():
    """Scores of own senses are summed as exactly as log Z, or J_LM would fall below zero."""
    model = make(dtype=torch.float32).eval()
    with torch.no_grad():
        model.embeddings.mul_(6)
        full = model(MASKED, TEXTS, TARGETS, r=1.5)
        with torch.autocast("cpu", torch.bfloat16):
            half = model(MASKED, TEXTS, TARGETS, r=1.5)
            y_p = model.read(MASKED).y_p
            assert (model.word_log_probs(y_p, TEXTS) < 1e-4).all()
    torch.testing.assert_close(full.total, half.total, rtol=0.2, atol=0.2)


def test_texts_that_are_too_long():
    for contextualizer in ("transformer", "bert", "lstm"):
        with pytest.raises(ValueError, match="longer than the model reads, 16"):
            make(contextualizer=contextualizer).read(torch.full((1, 17), 2))


def test_senses_are_ordered_by_share():
    model = make().eval()
    model.share_p.copy_(torch.rand(len(model.share_p)))
    model.share_d.copy_(model.share_p)
    shares, q = model.shares().clone(), model.disambiguation_probs(TEXTS)
    order_senses(model)
    for word, n in enumerate(N_SENSES):
        first = sum(N_SENSES[:word])
        assert (model.shares()[first : first + n].diff() <= 0).all()
        assert sorted(model.shares()[first : first + n].tolist()) == sorted(shares[first : first + n].tolist())
    assert model.inventory.numbers.tolist() == [s for n in N_SENSES for s in range(1, n + 1)]
    torch.testing.assert_close(model.disambiguation_probs(TEXTS).sort(-1).values, q.sort(-1).values)
    model.share_p[10] = model.share_d[10] = 0
    with pytest.raises(ValueError, match="order them before pruning"):
        order_senses(pruned(model))


def test_papers_bert_has_dropout():
    assert make(contextualizer="bert").c_p.dropout.p == 0.1
    assert make(contextualizer="bert", dropout=0.0).c_p.dropout.p == 0.0


def test_wrong_configurations():
    for wrong in (
        {"d_model": 10, "n_heads": 4},
        {"d_model": "8"},
        {"dropout": 1.0},
        {"n_layers_p": 0},
        {"normalisation": "x"},
        {"disambiguation": "no"},
        {"rotary_base": -1},
        {"contextualizer": []},
    ):
        with pytest.raises(UserError):
            ModelConfig(**wrong)
    with pytest.raises(UserError, match="does not know"):
        ModelConfig.from_dict({"width": 3})
    assert ModelConfig.from_dict(ModelConfig.small(dropout=0.1).to_dict()) == ModelConfig.small(dropout=0.1)


def test_dropout_is_for_training_alone():
    plain, dropped = make(), make(dropout=0.5)
    torch.testing.assert_close(dropped.eval().read(TEXTS).y_p, plain.eval().read(TEXTS).y_p)
    assert not torch.equal(dropped.train().read(TEXTS).y_p, dropped.read(TEXTS).y_p)


def test_weights_that_are_loaded_are_read_from_then_on():
    model, other = make(0).eval(), make(1).eval()
    model.keep_inputs()
    model.load_state_dict(other.state_dict())
    torch.testing.assert_close(model.read(TEXTS).y_p, other.read(TEXTS).y_p)


def test_what_a_pruned_model_reads_of_a_word_stays():
    model = make(3).eval()
    with torch.no_grad():
        model.share_p.fill_(1)
        model.share_d.fill_(1)
        model.share_p[10] = model.share_d[10] = 0
    before = model.word_vectors().detach()
    smaller = pruned(model).eval()
    assert smaller.inventory.n_rows == model.inventory.n_rows - 1
    torch.testing.assert_close(smaller.word_vectors().detach(), before)
    smaller.keep_inputs()
    torch.testing.assert_close(smaller.input_vectors(torch.arange(len(before))), before)
