"""The scorers equal the official ones on every recorded output, and behave as such measures must."""

import json
import math

import pytest
from benchmarks.naive_metrics import naive_fuzzy_bcubed, naive_fuzzy_nmi
from hypothesis import given
from hypothesis import strategies as st

from polylm.errors import UserError
from polylm.evaluation import metrics
from polylm.evaluation.keys import read_key

YEARS = {"2010": ("paired_fscore", "v_measure"), "2013": ("fuzzy_bcubed", "fuzzy_nmi")}
GOLD = {"2010": "semeval2010/evaluation/unsup_eval/keys/all.key", "2013": "semeval2013/keys/gold/all.key"}


@pytest.fixture(scope="module", params=["2010", "2013"])
def golden(request, data):
    year = request.param
    gold = read_key(data / "eval" / GOLD[year])
    recorded = json.loads((data / "golden" / f"semeval{year}.json").read_text())
    keys = {name: read_key(data / "golden" / "keys" / f"semeval{year}-{name}.key.gz") for name in recorded}
    return year, gold, recorded, keys


@pytest.mark.slow
def test_every_official_output(golden):
    year, gold, recorded, keys = golden
    assert len(keys) == {"2010": 15, "2013": 12}[year]
    for name, expected in recorded.items():
        for measure in YEARS[year]:
            result = getattr(metrics, measure)(gold, keys[name])
            check = {"2010": _same_2010, "2013": _same_2013}[year]
            check(measure, result, expected[measure])


def _same_2010(measure, result, expected):
    tolerance = {"paired_fscore": 1e-9, "v_measure": 0.0005 + 1e-9}[measure]
    assert result.total == pytest.approx(expected["total"], abs=tolerance)
    assert list(expected["per_lemma"]) == sorted(result.per_lemma)
    for lemma, printed in expected["per_lemma"].items():
        assert list(result.per_lemma[lemma].values()) == pytest.approx(printed, abs=0.0005 + 1e-9), lemma


def _same_2013(measure, result, expected):
    def parts(scores):
        return [scores[name] for name in (*result.parts, "score")]

    assert parts(result.over(result.per_lemma)) == pytest.approx(expected["total"], abs=1e-9)
    assert set(expected["per_lemma"]) == set(result.per_lemma)
    for lemma, printed in expected["per_lemma"].items():
        assert parts(result.per_lemma[lemma]) == pytest.approx(printed, abs=1e-9), lemma


def test_gold_against_itself_and_one_cluster(golden):
    year, gold, _, _ = golden
    one = {lemma: {instance: {"c": 1.0} for instance in instances} for lemma, instances in gold.items()}
    first, second = (getattr(metrics, name) for name in YEARS[year])
    ceiling, floor = {"2010": (1.0, 0.6343), "2013": (0.9917, 0.6235)}[year]
    assert first(gold, gold).total == pytest.approx(ceiling, abs=5e-5)
    assert second(gold, gold).total == pytest.approx(1.0)
    assert first(gold, one).total == pytest.approx(floor, abs=5e-5)
    assert second(gold, one).total == pytest.approx(0.0, abs=1e-12)


def test_parts_of_speech(golden):
    """Nouns and verbs of the one-cluster baseline, as the organisers of 2010 published them: 57.02 and 72.76."""
    year, gold, _, _ = golden
    if year == "2013":
        pytest.skip("published for 2010")
    one = {lemma: {instance: {"c": 1.0} for instance in instances} for lemma, instances in gold.items()}
    measure = metrics.paired_fscore(gold, one)
    found = {pos: measure.over(lemmas)["score"] for pos, lemmas in metrics.by_pos(gold).items()}
    assert {pos: round(100 * score, 2) for pos, score in found.items()} == {"n": 57.02, "v": 72.76}


weights = st.sampled_from([0.1, 0.15, 0.25, 0.3, 0.5, 0.7, 1.0])
labels = st.dictionaries(st.sampled_from("pqrst"), weights, min_size=1, max_size=3)


@st.composite
def sides(draw):
    n = draw(st.integers(1, 9))
    gold = {f"i{number}": draw(labels) for number in range(n)}
    answered = draw(st.sets(st.sampled_from([*gold, "outside"]), min_size=0))
    key = {instance: draw(labels) for instance in sorted(answered)}
    return gold, key


@given(sides())
def test_fuzzy_measures_equal_a_naive_reading(both):
    gold, key = both
    bcubed = metrics.fuzzy_bcubed({"w.n": gold}, {"w.n": key}).per_lemma["w.n"]
    assert (bcubed["precision"], bcubed["recall"]) == pytest.approx(naive_fuzzy_bcubed(gold, key), abs=1e-9)
    nmi = metrics.fuzzy_nmi({"w.n": gold}, {"w.n": key}).total
    assert nmi == pytest.approx(naive_fuzzy_nmi(gold, key), abs=1e-9)


ALL = (
    metrics.paired_fscore,
    metrics.v_measure,
    metrics.bcubed,
    metrics.adjusted_rand,
    metrics.fuzzy_bcubed,
    metrics.fuzzy_nmi,
)


def totals(gold, key):
    return [measure({"w.n": gold}, {"w.n": key}).total for measure in ALL]


@given(sides(), st.permutations("pqrst"))
def test_names_of_clusters_do_not_matter(both, names):
    gold, key = both
    rename = dict(zip("pqrst", names, strict=True))
    renamed = {i: {f"cluster {rename[label]}": w for label, w in given.items()} for i, given in key.items()}
    assert totals(gold, renamed) == pytest.approx(totals(gold, key), abs=1e-12)


@given(sides(), st.randoms(use_true_random=False))
def test_order_of_lines_does_not_matter(both, random):
    gold, key = both
    shuffled = [dict(random.sample(list(side.items()), len(side))) for side in (gold, key)]
    assert totals(*shuffled) == pytest.approx(totals(gold, key), abs=1e-12)


@given(sides(), st.sampled_from([0.25, 2.0, 1024.0]))
def test_scale_of_an_instance_does_not_matter(both, factor):
    """Powers of two, which scale exactly: a bin begins at 0.1, where rounding would show."""
    gold, key = both
    scaled = {i: {label: w * factor for label, w in given.items()} for i, given in key.items()}
    assert totals(gold, scaled) == pytest.approx(totals(gold, key), abs=1e-12)


@given(sides())
def test_every_score_is_a_share(both):
    for measure, value in zip(ALL, totals(*both), strict=True):
        low = -1.0 if measure is metrics.adjusted_rand else -1e-12
        assert low <= value <= 1 + 1e-12


@given(sides())
def test_hard_measures_know_the_gold(both):
    gold, _ = both
    hard = {i: {next(iter(given)): 1.0} for i, given in gold.items()}
    scores = dict(zip([measure.__name__ for measure in ALL], totals(hard, hard), strict=True))
    for name in ("v_measure", "bcubed", "adjusted_rand"):
        assert scores[name] == pytest.approx(1.0)


def test_small_cases_by_hand():
    gold = {"w.n": {"1": {"a": 1}, "2": {"a": 1}, "3": {"a": 1}, "4": {"b": 1}}}
    key = {"w.n": {"1": {"x": 1}, "2": {"x": 1}, "3": {"y": 1}, "4": {"y": 1}}}
    f = metrics.paired_fscore(gold, key).per_lemma["w.n"]  # 1 pair of 2 in the key is right, of 3 + 1 in the gold
    assert (f["precision"], f["recall"]) == (0.5, 0.25)
    b = metrics.bcubed(gold, key).per_lemma["w.n"]
    assert (b["precision"], b["recall"]) == pytest.approx(((1 + 1 + 0.5 + 0.5) / 4, (2 / 3 + 2 / 3 + 1 / 3 + 1) / 4))
    assert metrics.adjusted_rand(gold, key).total == pytest.approx(0.0)
    v = metrics.v_measure(gold, key).per_lemma["w.n"]
    gold_bits = -(0.75 * math.log2(0.75) + 0.25 * math.log2(0.25))
    assert v["homogeneity"] == pytest.approx(1 - 0.5 / gold_bits)


def test_a_missing_lemma_is_one_cluster():
    gold = {"w.n": {"1": {"a": 1}, "2": {"a": 1}, "3": {"b": 1}}, "x.v": {"4": {"a": 1}, "5": {"a": 1}}}
    key = {"x.v": {"4": {"c": 1}, "5": {"c": 1}}, "other.n": {"9": {"c": 1}}}
    f = metrics.paired_fscore(gold, key)
    one = metrics.paired_fscore(gold, {"w.n": {i: {"c": 1} for i in "123"}, **key})
    assert f.per_lemma == one.per_lemma
    assert f.total == pytest.approx((3 * f.per_lemma["w.n"]["score"] + 2 * 1.0) / 5)


@pytest.mark.slow
def test_wide_and_long_lemmas_stay_small():
    """Blocks of rows: thousands of instances of one lemma do not make thousands of thousands of cells at once."""
    import tracemalloc

    n = 6000
    gold = {"w.n": {str(i): {str(i % 7): 1.0} for i in range(n)}}
    key = {"w.n": {str(i): {str(i % 5): 1.0, "z": 0.5} for i in range(n)}}
    tracemalloc.start()
    score = metrics.fuzzy_bcubed(gold, key).total
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 0 < score < 1
    assert peak < 300e6


def test_totals_by_hand():
    """V-measure is weighted by the sizes of lemmas; fuzzy B-cubed takes precision and recall together at the end."""
    gold = {
        "a.n": {"1": {"x": 1}, "2": {"y": 1}},
        "b.n": {str(n): {"x" if n < 3 else "y": 1} for n in range(6)},
    }
    key = {
        "a.n": {"1": {"c": 1}, "2": {"d": 1}},
        "b.n": {str(n): {"c" if n < 2 else "d" if n < 5 else "e": 1} for n in range(6)},
    }
    v = metrics.v_measure(gold, key)
    own = {lemma: scores["score"] for lemma, scores in v.per_lemma.items()}
    assert v.total == pytest.approx((2 * own["a.n"] + 6 * own["b.n"]) / 8)
    b = metrics.fuzzy_bcubed(gold, key)
    precision, recall = (sum(scores[part] for scores in b.per_lemma.values()) / 2 for part in ("precision", "recall"))
    assert b.total == pytest.approx(2 * precision * recall / (precision + recall))


def test_instances_that_are_all_alone_are_right():
    gold = {"w.n": {"1": {"a": 1.0}, "2": {"b": 1.0}}}
    assert metrics.paired_fscore(gold, gold).total == 1.0


def test_a_label_without_a_weight_is_refused():
    gold = {"w.n": {"1": {"shore": 1.0}, "2": {"money": 1.0}}}
    for wrong in ("shore", {}):
        with pytest.raises(UserError, match="labels have weights"):
            metrics.v_measure(gold, {"w.n": {"1": wrong, "2": {"c": 1.0}}})
