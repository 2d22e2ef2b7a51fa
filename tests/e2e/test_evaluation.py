"""`polylm score`, `eval` and `data` as a user meets them."""

import json

import pytest

from tests.shared.command import polylm, sentence

pytestmark = pytest.mark.slow


def test_score(tmp_path):
    (tmp_path / "gold").write_text("a.n 1 x\na.n 2 x\na.n 3 y\nb.v 4 x\nb.v 5 x\n")
    (tmp_path / "key").write_text("a.n 1 c\na.n 2 c\na.n 3 d\nb.v 4 c/0.5\nb.v 5 c/0.25\n")
    shown = polylm("score", "semeval2010", tmp_path / "key", tmp_path / "gold").stdout.decode().splitlines()
    assert shown[0].split("\t") == ["", "F-S", "V-M", "AVG", "lemmas"]
    assert shown[1].split("\t") == ["all", "100.00", "100.00", "100.00", "2"]
    assert [line.split("\t")[0] for line in shown[2:]] == ["nouns", "verbs"]
    result = json.loads(polylm("score", "semeval2013", tmp_path / "key", tmp_path / "gold", "--json").stdout)
    assert list(result) == ["fuzzy_bcubed", "fuzzy_nmi", "avg", "per_lemma", "per_pos"]
    assert set(result["per_lemma"]) == {"a.n", "b.v"}
    assert set(result["per_pos"]) == {"n", "v"}
    markdown = polylm("score", "semeval2010", tmp_path / "key", tmp_path / "gold", "--markdown").stdout.decode()
    assert markdown.startswith("|  | F-S |")
    (tmp_path / "key").write_text("a.n 1 c\na.n 2 c\na.n 9 d\n")
    partly = polylm("score", "semeval2010", tmp_path / "key", tmp_path / "gold")
    assert partly.stderr.decode() == "2 of 5 gold instances are answered; 1 answers are not in the gold\n"


def test_score_complains(tmp_path):
    (tmp_path / "gold").write_text("a.n 1 x\n")
    (tmp_path / "key").write_text("a.n 1 c\na.n 2\n")
    assert "key, line 2: " in sentence(polylm("score", "semeval2010", tmp_path / "key", tmp_path / "gold"))
    assert "there is no file" in sentence(polylm("score", "semeval2010", tmp_path / "none", tmp_path / "gold"))
    assert "is a folder" in sentence(polylm("score", "semeval2010", tmp_path, tmp_path / "gold"))


def test_eval_semeval(semeval2010_folder, semeval2013_folder, model_folder, tmp_path):
    for name, folder, keys in (
        ("semeval2010", semeval2010_folder, ["paired_fscore", "v_measure", "avg"]),
        ("semeval2013", semeval2013_folder, ["fuzzy_bcubed", "fuzzy_nmi", "avg"]),
    ):
        out = tmp_path / f"{name}.key"
        result = polylm("eval", name, folder, "--model", model_folder, "--out", out, "--json", "--device", "cpu")
        values = json.loads(result.stdout)
        assert {*keys, "per_lemma", "per_pos", "baselines", "published", "unknown"} <= set(values)
        assert values["granularity"] == 0.5  # the model's own
        gold = next(folder.rglob("all.key"))
        again = json.loads(polylm("score", name, out, gold, "--json").stdout)
        assert {key: again[key] for key in keys} == {key: values[key] for key in keys}
    shown = polylm("eval", "semeval2010", semeval2010_folder, "--model", model_folder, "--granularity", "1")
    lines = shown.stdout.decode().splitlines()
    assert lines[0].split("\t") == ["semeval2010", "F-S", "V-M", "AVG"]
    assert lines[1].startswith("this model (both, granularity 1, weight 0.6)\t")
    assert any(line.startswith("PolyLM BASE\t65.8\t") for line in lines)


def test_eval_the_others(own_file, wic_folder, wsd_folder, model_folder, tmp_path):
    shown = polylm("eval", "jsonl", own_file, "--model", model_folder)
    assert shown.stdout.decode().splitlines()[0].split("\t") == ["mine", "F-S", "V-M", "B-cubed", "ARI", "AVG"]
    assert "answered with one sense: zyzzyva.n" in shown.stderr.decode()
    assert "they have one sentence: zyzzyva.n" in shown.stderr.decode()
    values = json.loads(polylm("eval", "wic", wic_folder, "--model", model_folder, "--json").stdout)
    assert values["pairs"] == {"train": 12, "dev": 6, "test": 3}
    values = json.loads(
        polylm("eval", "wsd", wsd_folder, "--model", model_folder, "--json", "--out", tmp_path / "k").stdout
    )
    assert set(values["f1"]) == {"senseval2", "ALL"}
    assert len((tmp_path / "k").read_text().splitlines()) == 4
    semcor = tmp_path / "semcor3.0.tar.gz"
    values = json.loads(polylm("eval", "semcor-wsi", semcor, "--model", model_folder, "--json").stdout)
    assert values["instances"] == 4
    assert values["baselines"]["one cluster per lemma"]["bcubed"] == pytest.approx(2 * 0.625 / 1.625)


def test_eval_complains(semeval2010_folder, wic_folder, model_folder, tmp_path):
    nowhere = tmp_path / "nowhere"
    assert "Get it from https://" in sentence(polylm("eval", "semeval2010", nowhere, "--model", model_folder))
    assert "there is no folder" in sentence(polylm("eval", "semeval2010", semeval2010_folder, "--model", nowhere))
    for option, value in (("--weight", "2"), ("--granularity", "7")):
        shown = polylm("eval", "semeval2010", semeval2010_folder, "--model", model_folder, option, value)
        assert "must be between 0 and 1" in sentence(shown)
    for out, complaint in (
        (tmp_path, "is a folder"),
        (tmp_path / "no" / "k", "there is no folder"),
        ("", "not a file name"),
    ):
        shown = polylm("eval", "semeval2010", semeval2010_folder, "--model", model_folder, "--out", out)
        assert complaint in sentence(shown)
        assert b"text:" not in shown.stderr  # said before the work, not after
    shown = polylm("eval", "semeval2010", semeval2010_folder, "--model", model_folder, "--semcor", "x")
    assert "for wsd alone" in sentence(shown)
    shown = polylm("eval", "wic", wic_folder, "--model", model_folder, "--out", tmp_path / "k")
    assert "WiC has no key files" in sentence(shown)


def test_data(tmp_path):
    lines = polylm("data").stdout.decode().splitlines()
    assert lines[0].split("\t") == ["name", "what it is", "licence", "home", "fetch"]
    assert [line.split("\t")[0] for line in lines[1:4]] == ["semeval2010", "semeval2013", "semeval2013-trial"]
    assert {entry["name"] for entry in json.loads(polylm("data", "--json").stdout)} >= {"wic", "semcor", "wordnet"}
    assert "its licence is not stated" in sentence(polylm("data", "semeval2010", "--out", tmp_path / "x"))
    assert "choose from semeval2010" in sentence(polylm("data", "nothing"))
    assert "say which data set" in sentence(polylm("data", "--out", tmp_path / "x"))
