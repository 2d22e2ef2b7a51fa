"""WiC: pairs are read, rules are learned on the training pairs alone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polylm.errors import UserError
from polylm.evaluation import wic
from polylm.evaluation.systems import PolyLMSystem


def test_pairs(wic_folder):
    pairs = wic.read_pairs(wic_folder)
    assert {split: len(p.same) for split, p in pairs.items()} == {"train": 12, "dev": 6, "test": 3}
    dev = pairs["dev"]
    assert [i.text[i.start : i.end] for i in dev.instances[:4]] == ["banks", "bank", "waits", "waiting"]
    assert dev.same[:3].tolist() == [True, False, True]


def test_result(model, wic_folder):
    result = wic.evaluate(wic.read_pairs(wic_folder), PolyLMSystem(model))
    assert result.unknown == {"train": 4, "dev": 2, "test": 1}
    assert result.accuracy["always the same"]["dev"] == pytest.approx(2 / 3)
    for rule in ("cosine of y^P, threshold", "dot of q, threshold"):
        assert result.accuracy[rule]["train"] >= 2 / 3
    for values in result.accuracy.values():
        assert values["train"] == pytest.approx(values["dev"]) == pytest.approx(values["test"])  # the same three pairs


def test_whole(data):
    pairs = wic.read_pairs(data / "eval/wic")
    assert {split: len(p.same) for split, p in pairs.items()} == {"train": 5428, "dev": 638, "test": 1400}
    assert all(i.text[i.start : i.end].strip() for p in pairs.values() for i in p.instances)


@given(st.lists(st.tuples(st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.9]), st.booleans()), min_size=1, max_size=12))
def test_best_threshold(cases):
    values, same = np.array([v for v, _ in cases]), np.array([s for _, s in cases])
    best = max(((values > cut) == same).sum() for cut in (-np.inf, *values))
    assert ((values > wic.best_threshold(values, same)) == same).sum() == best


def test_logistic_regression_is_at_its_least():
    """The gradient of the loss with the penalty is zero at what is found."""
    rng = np.random.default_rng(0)
    every = rng.normal(size=(200, 3))
    x = every[:, [0, 2]]
    same = x @ [1.5, -0.5] + rng.normal(size=200) > 0.3
    of_every, cut = wic._logistic_rule(every, same, (0, 2))
    assert of_every[1] == 0
    weights = of_every[[0, 2]]
    p = 1 / (1 + np.exp(-(x @ weights - cut)))
    assert np.abs(x.T @ (p - same) + weights).max() < 1e-5
    assert abs((p - same).sum()) < 1e-5


def test_half_whitened_directions_vary_by_the_root_of_what_they_did():
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(50_000, 3)) * [9.0, 4.0, 0.0] + [1, 2, 3]
    even = wic.half_whitened(vectors, vectors)
    np.testing.assert_allclose(even.mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(even.std(axis=0), [0, 2, 3], rtol=0.02, atol=1e-3)
    assert np.isfinite(wic.half_whitened(vectors[:2], vectors[:2])).all()


def test_broken_files(wic_folder, tmp_path):
    with pytest.raises(UserError, match="`polylm data wic --out FOLDER` fetches it"):
        wic.read_pairs(tmp_path / "none")
    data, gold = wic_folder / "dev/dev.data.txt", wic_folder / "dev/dev.gold.txt"
    rows = data.read_text().splitlines()
    for broken in ("bank\tN\t9-1\ta b\tc d", "bank\tN\t1\ta b\tc d", "bank N", "bank\tN\t0-0\ta"):
        data.write_text("\n".join([rows[0], broken, *rows[2:]]))
        with pytest.raises(UserError, match=r"dev\.data\.txt, line 2: this is not a word"):
            wic.read_pairs(wic_folder)
    data.write_text("\n".join(rows[:-1]))
    with pytest.raises(UserError, match="do not belong together"):
        wic.read_pairs(wic_folder)
    data.write_bytes(b"\xff")
    with pytest.raises(UserError, match="line 1: this is not UTF-8"):
        wic.read_pairs(wic_folder)
    data.write_text("")
    with pytest.raises(UserError, match="is empty"):
        wic.read_pairs(wic_folder)
    data.write_text("\n".join(rows))
    gold.write_text("T\nX\n" + "T\n" * 4)
    with pytest.raises(UserError, match=r"dev\.gold\.txt, line 2: 'X' is neither T nor F"):
        wic.read_pairs(wic_folder)


def test_the_length_of_outputs_does_not_matter(model, wic_folder, monkeypatch):
    read, seen = PolyLMSystem.read, []

    def longer(*arguments, **named):
        q, y = read(*arguments, **named)
        return q, y * np.arange(1, len(y) + 1, dtype=np.float32)[:, None]

    def threshold(values, same):
        seen.append(values)
        return 0.0

    monkeypatch.setattr(wic, "best_threshold", threshold)
    for how in (read, longer):
        monkeypatch.setattr(PolyLMSystem, "read", how)
        wic.evaluate(wic.read_pairs(wic_folder), PolyLMSystem(model))
    np.testing.assert_allclose(seen[0], seen[3], rtol=1e-4)  # the cosines; between them the products of q
    np.testing.assert_allclose(seen[2], seen[5], rtol=1e-3, atol=1e-5)  # and those of what is half whitened
