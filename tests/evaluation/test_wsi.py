"""From distributions to answers to scores, for our model, baselines, and anything with the protocol."""

import pytest

from polylm.errors import UserError
from polylm.evaluation import own, semeval2010, semeval2013, wsi
from polylm.evaluation.baselines import OneCluster, OnePerInstance, RandomSenses
from polylm.evaluation.instances import Instance
from polylm.evaluation.keys import read_key, write_key
from polylm.evaluation.packed import Packed
from polylm.evaluation.systems import PolyLMSystem


def test_answers():
    instances = [Instance(str(n), "bank", "n", "", 0, 0) for n in range(4)]
    probs = [{"a": 0.15, "b": 0.5, "c": 0.25, "d": 0.1}, {"a": 0.2, "b": 0.8}, {"a": 0.15, "b": 0.14}, {}]
    assert wsi.answers(instances, probs, graded=True)["bank.n"] == {
        "0": {"b": 0.5, "c": 0.25},
        "1": {"b": 0.8},
        "2": {"a": 0.15},
        "3": {"bank.n.1": 1.0},
    }
    assert wsi.answers(instances, probs, graded=False)["bank.n"] == {
        "0": {"b": 1.0},
        "1": {"b": 1.0},
        "2": {"a": 1.0},
        "3": {"bank.n.1": 1.0},
    }


@pytest.mark.parametrize("source", ["prediction", "disambiguation", "both"])
def test_our_model(model, semeval2010_folder, semeval2013_folder, tmp_path, source):
    system = PolyLMSystem(model, read_out=source)
    for dataset in (semeval2010.read(semeval2010_folder), semeval2013.read(semeval2013_folder)):
        evaluation = wsi.evaluate(dataset, system)
        answered = {i for instances in evaluation.key.values() for i in instances}
        assert answered == {i.id for i in dataset.instances}  # those without gold too
        assert not evaluation.unknown
        write_key(tmp_path / "a.key", evaluation.key, weights=dataset.task == "semeval2013")
        again = wsi.score(dataset.task, read_key(tmp_path / "a.key"), dataset.gold)
        assert again == evaluation.scores
        labels = {label for given in evaluation.key.values() for labels in given.values() for label in labels}
        assert labels <= {f"{i.target}.{k}" for i in dataset.instances for k in (1, 2, 3)}


def test_senses_are_merged_before_the_answer(model):
    instances = [Instance(str(n), "bank", "n", "a cold bank", 7, 11) for n in range(3)]
    apart = PolyLMSystem(model).sense_probs(instances)[0]
    together = PolyLMSystem(model, granularity=0.5).sense_probs(instances)[0]
    assert set(apart) == {"bank.n.1", "bank.n.2", "bank.n.3"}
    assert set(together) == {"bank.n.1", "bank.n.2"}
    assert together["bank.n.2"] == pytest.approx(apart["bank.n.2"] + apart["bank.n.3"])
    with pytest.raises(UserError, match="between 0 and 1"):
        PolyLMSystem(model, granularity=1.5)


def test_own_data(model, own_file):
    dataset = own.read(own_file)
    evaluation = wsi.evaluate(dataset, PolyLMSystem(model))
    assert evaluation.unknown == ["zyzzyva.n"]
    assert evaluation.key["zyzzyva.n"] == {"zyzzyva.n.6": {"zyzzyva.n.1": 1.0}}
    per_lemma = evaluation.scores.per_lemma
    assert list(per_lemma) == ["bank.n", "wait.v"]  # a lemma of one sentence does not count
    for name in ("paired_fscore", "v_measure", "bcubed", "adjusted_rand", "avg"):
        mean = sum(scores[name] for scores in per_lemma.values()) / 2
        assert evaluation.scores.totals[name] == pytest.approx(mean)
    for scores in per_lemma.values():
        assert scores["avg"] == pytest.approx((scores["paired_fscore"] * scores["v_measure"]) ** 0.5)


def test_any_system(semeval2010_folder):
    """All it takes is one method."""

    class ByLength:
        def sense_probs(self, instances):
            return [{"long" if len(i.text) > 40 else "short": 1.0} for i in instances]

    dataset = semeval2010.read(semeval2010_folder)
    evaluation = wsi.evaluate(dataset, ByLength())
    assert evaluation.key["bank.n"]["bank.n.1"] == {"long": 1.0}
    assert set(evaluation.baselines) == {"one cluster per lemma", "one cluster per instance", "random, 4 clusters"}

    class Short:
        def sense_probs(self, instances):
            return [{"x": 1.0}]

    with pytest.raises(ValueError, match="1 distributions for 5 instances"):
        wsi.evaluate(dataset, Short())


@pytest.mark.slow
def test_baselines_have_the_published_scores(data):
    """One cluster per lemma: 63.43 and 62.35, one per instance 31.7 V-measure and 7.1 fuzzy NMI."""
    for read, folder, expected in (
        (semeval2010.read, "semeval2010", [63.43, 0.0, 0.10, 31.65]),
        (semeval2013.read, "semeval2013", [62.35, 0.0, 0.0, 7.09]),
    ):
        evaluation = wsi.evaluate(read(data / "eval" / folder), OneCluster())
        rows = [evaluation.baselines[name] for name in ("one cluster per lemma", "one cluster per instance")]
        found = [round(100 * value, 2) + 0.0 for row in rows for value in list(row.totals.values())[:2]]
        assert found == expected


def test_baselines_by_name():
    instances = [Instance(str(n), "bank", "n", "", 0, 0) for n in range(50)]
    assert len({next(iter(q)) for q in OneCluster().sense_probs(instances)}) == 1
    assert len({next(iter(q)) for q in OnePerInstance().sense_probs(instances)}) == 50
    lots = RandomSenses(3).sense_probs(instances)
    assert len({next(iter(q)) for q in lots}) == 3
    assert lots == RandomSenses(3).sense_probs(instances)


def test_an_instance_is_there_once(semeval2010_folder):
    from dataclasses import replace

    dataset = semeval2010.read(semeval2010_folder)
    twice = replace(dataset, instances=[*dataset.instances, dataset.instances[0]])
    with pytest.raises(UserError, match=r"bank\.n\.1 of bank\.n is in the data set twice"):
        wsi.evaluate(twice, OneCluster())


def test_keys_that_do_not_belong_together():
    gold = {"bank.n": {"1": {"a": 1.0}}}
    with pytest.raises(UserError, match="answers no instance of the gold key"):
        wsi.score("semeval2010", {"bank.n": {"2": {"a": 1.0}}}, gold)
    with pytest.raises(UserError, match="there is no task"):
        wsi.score("semeval2011", gold, gold)


def test_packed_elsewhere(model, semeval2013_folder, tmp_path):
    """Text read here, network run from the file alone: the same key."""
    dataset = semeval2013.read(semeval2013_folder)
    Packed.make(dataset, model.reader.pipeline, 24).save(tmp_path / "test.npz")
    packed = Packed.load(tmp_path / "test.npz")
    there = packed.evaluate(model.network, merge_tree=model.lexicon.merge_tree, granularity=0.5, read_out="prediction")
    here = wsi.evaluate(dataset, PolyLMSystem(model, granularity=0.5, read_out="prediction"))
    assert there.key == here.key
    assert there.scores == here.scores
    with pytest.raises(UserError, match="without the confusions"):
        packed.evaluate(model.network, granularity=0.5)
    Packed.make(dataset, model.reader.pipeline, 24).save(tmp_path / "no suffix")
    assert Packed.load(tmp_path / "no suffix").dataset == packed.dataset
    (tmp_path / "bad.npz").write_bytes(b"PK\x03\x04")
    for name in ("bad.npz", "none.npz"):
        with pytest.raises(UserError):
            Packed.load(tmp_path / name)
