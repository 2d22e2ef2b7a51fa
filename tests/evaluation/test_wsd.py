"""WSD: the framework, SemCor and WordNet are read; senses are mapped by counting; the rest falls back."""

import shutil

import numpy as np
import pytest

from polylm.errors import UserError
from polylm.evaluation import wsd
from polylm.evaluation.systems import PolyLMSystem
from polylm.wordnet import sense_keys


def parts(folder):
    return (
        wsd.read_framework(folder),
        wsd.read_semcor(wsd.find_beside(folder, "semcor")),
        sense_keys(wsd.find_beside(folder, "wordnet")),
    )


def test_reading(wsd_folder):
    framework, semcor, wordnet = parts(wsd_folder)
    labelled = framework["senseval2"]
    assert [i.text[i.start : i.end] for i in labelled.instances] == ["banks", "river", "sat down", "cold"]
    assert [(i.lemma, i.pos) for i in labelled.instances][2:] == [("sit_down", "v"), ("cold", "j")]
    assert labelled.instances[0].text is labelled.instances[3].text
    assert labelled.senses[3] == ("cold%3:00:02::", "cold%3:00:01::")
    assert semcor.senses == [("bank%1:17:01::",), ("bank%1:14:00::",), ("bank%1:14:00::",), ("sit_down%2:38:00::",)]
    assert [i.text[i.start : i.end] for i in semcor.instances] == ["bank", "banks", "bank", "sat down"]
    assert wordnet["bank", "n"] == ["bank%1:17:01::", "bank%1:14:00::"]


def test_mapping_by_hand():
    counts = {"w1": np.array([3.0, 1.0]), "w2": np.array([1.0, 2.0])}
    assert wsd._predict(np.array([1.0, 0.0]), counts) == "w1"
    assert wsd._predict(np.array([0.0, 1.0]), counts) == "w2"
    assert wsd._predict(np.array([0.5, 0.5]), counts) == "w1"  # 0.75 + 0.33 against 0.25 + 0.67
    counts = {"w1": np.array([9.0, 1.0]), "w2": np.array([1.0, 2.0])}
    assert wsd._predict(np.array([0.45, 0.55]), counts) == "w1"  # .45 * .9 + .55 * .33 against .45 * .1 + .55 * .67


def test_result(model, wsd_folder):
    result = wsd.evaluate(*parts(wsd_folder), PolyLMSystem(model))
    assert result.sizes == {"senseval2": 4, "ALL": 4}
    assert result.mapped["senseval2"] == 1  # bank: twice in SemCor, several senses in the model
    assert result.mfs["ALL"] == 0.75  # SemCor's most frequent bank is wrong here, first senses of the others right
    assert result.key["senseval2.d0.s0.t1"] == "river%1:17:00::"
    assert result.key["senseval2.d0.s0.t0"] in ("bank%1:17:01::", "bank%1:14:00::")
    assert result.f1["ALL"] in (0.75, 1.0)


@pytest.mark.slow
def test_baseline_is_the_published_one(data):
    """WordNet's first sense has 66.8, 66.2, 55.2, 63.0 and 67.8 in Raganato et al. 2017."""
    framework = wsd.read_framework(data / "eval/wsd-framework")
    wordnet = sense_keys(wsd.find_beside(data / "eval/wsd-framework", "wordnet"))
    found = []
    for labelled in framework.values():
        right = [
            wordnet[i.lemma, i.pos][0] in senses for i, senses in zip(labelled.instances, labelled.senses, strict=True)
        ]
        found.append(round(100 * sum(right) / len(right), 1))
    assert found == [66.8, 66.2, 55.2, 63.0, 67.8]


@pytest.mark.slow
def test_semcor_whole(data):
    semcor = wsd.read_semcor(wsd.find_beside(data / "eval/wsd-framework", "semcor"))
    assert len(semcor.instances) == len(semcor.senses) == 226_005
    assert len({id(i.text) for i in semcor.instances}) == 352


def test_framework_flavour_of_semcor(wsd_folder):
    folder = wsd_folder / "Evaluation_Datasets/senseval2"
    for end in ("data.xml", "gold.key.txt"):
        shutil.copy(folder / f"senseval2.{end}", folder / f"semcor.{end}")
    assert len(wsd.read_semcor(folder / "semcor.data.xml").instances) == 4


def test_what_is_missing(wsd_folder, tmp_path):
    with pytest.raises(UserError, match="Get it from"):
        wsd.read_framework(tmp_path / "none")
    with pytest.raises(UserError, match="holds no SemCor"):
        wsd.read_semcor(tmp_path / "wordnet")
    with pytest.raises(UserError, match="holds no WordNet"):
        sense_keys(tmp_path / "semcor3.0.tar.gz")
    with pytest.raises(UserError, match="there is no"):
        wsd.read_semcor(tmp_path / "none.tar")
    (tmp_path / "bad.tar").write_bytes(b"no archive")
    with pytest.raises(UserError, match="cannot be read as an archive"):
        wsd.read_semcor(tmp_path / "bad.tar")
    (tmp_path / "semcor3.0.tar.gz").unlink()
    with pytest.raises(UserError, match=r"say where it is \(semcor\)"):
        wsd.find_beside(wsd_folder, "semcor")
    gold = wsd_folder / "Evaluation_Datasets/senseval2/senseval2.gold.key.txt"
    gold.write_text(gold.read_text().split("\n", 1)[1])
    with pytest.raises(UserError, match=r"has no sense for d0\.s0\.t0"):
        wsd.read_framework(wsd_folder)
    gold.unlink()
    with pytest.raises(UserError, match="is missing"):
        wsd.read_framework(wsd_folder)


def test_a_damaged_archive_is_not_read_in_part(tmp_path):
    import bz2
    import io
    import tarfile

    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for number in range(3):
            info = tarfile.TarInfo(f"semcor/brown1/tagfiles/br-a0{number}")
            text = b"<wf cmd=done pos=NN lemma=bank wnsn=1 lexsn=1:17:01::>bank</wf>" * 40
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text))
    whole = buffer.getvalue()
    (tmp_path / "semcor.tar.bz2").write_bytes(bz2.compress(whole))
    assert len(wsd.read_semcor(tmp_path / "semcor.tar.bz2").instances) == 120
    second = whole.index(b"semcor/brown1/tagfiles/br-a01")
    damaged = whole[:second] + b"\xff" * 200 + whole[second + 200 :]
    for name, data in (("semcor.tar", damaged), ("cut.tar.bz2", bz2.compress(whole)[:-20])):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(UserError, match="cannot be read as an archive"):
            wsd.read_semcor(tmp_path / name)


def test_broken_lines(wsd_folder, tmp_path):
    index = tmp_path / "wordnet" / "index.sense"
    index.write_text(index.read_text() + "\n")
    with pytest.raises(UserError, match="line 7"):
        sense_keys(tmp_path / "wordnet")
    data = wsd_folder / "Evaluation_Datasets/senseval2/senseval2.data.xml"
    whole = data.read_text()
    data.write_text(whole.replace('pos="NOUN">banks', ">banks"))
    with pytest.raises(UserError, match="an instance lacks its pos"):
        wsd.read_framework(wsd_folder)
    data.write_text("<corpus/>")
    with pytest.raises(UserError, match="holds no instances"):
        wsd.read_framework(wsd_folder)
    gold = data.with_name("senseval2.gold.key.txt")
    gold.write_bytes(gold.read_bytes() + b"x \xff\n")
    with pytest.raises(UserError, match="line 5: this is not UTF-8"):
        wsd.read_framework(wsd_folder)


def test_what_the_model_says_is_the_answer(model, wsd_folder, monkeypatch):
    monkeypatch.setattr(wsd, "_predict", lambda q, counts: "bank%1:17:01::")
    result = wsd.evaluate(*parts(wsd_folder), PolyLMSystem(model))
    assert (result.f1["ALL"], result.mfs["ALL"]) == (1.0, 0.75)
