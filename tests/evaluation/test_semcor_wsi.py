"""SemCor-WSI: the authors' files, and sets drawn from SemCor; scored by the mean over lemmas of B-cubed F."""

import pytest

from polylm.errors import UserError
from polylm.evaluation import semcor_wsi
from polylm.evaluation.wsi import judge

TABLE = """sentence,lemma,lexsn,wnsn,pos,position
"Sir_Cedric sat by the bank , old and cold .",bank,1:17:01::,1,NN,"(22, 26)"
The Bank was closed .,Bank,1:14:00::,2,NN,"(4, 8)"
The BANKS were closed .,bank,1:14:00::,2,NN,"(4, 9)"
"Sir_Cedric sat by the bank , old and cold .",cold,3:00:01::,1,JJ,"(37, 41)"
It was a cold day .,cold,3:00:01::,1,JJ,"(9, 13)"
"""


def test_the_authors_files(tmp_path):
    (tmp_path / "test_all.csv").write_text(TABLE)
    (tmp_path / "dev_all.csv").write_text(TABLE[: TABLE.index("It was")])
    dataset = semcor_wsi.read(tmp_path)
    assert [i.text[i.start : i.end] for i in dataset.instances] == ["bank", "Bank", "BANKS", "cold", "cold"]
    assert dataset.instances[0].text.startswith("Sir Cedric sat")
    assert {lemma: len(senses) for lemma, senses in dataset.gold.items()} == {"bank.n": 3, "cold.j": 2}
    assert len(semcor_wsi.read(tmp_path, "dev").instances) == 4
    assert semcor_wsi.read(tmp_path / "test_all.csv") == dataset


def test_scores_are_means_over_lemmas(tmp_path):
    """One cluster: bank has a precision of 5/9 and a recall of 1, cold is right."""
    (tmp_path / "test_all.csv").write_text(TABLE)
    dataset = semcor_wsi.read(tmp_path)
    found = judge(dataset, [{f"{i.target}.1": 1.0} for i in dataset.instances])
    bank = 2 * (5 / 9) / (5 / 9 + 1)
    assert found.scores.totals == {"bcubed": pytest.approx((bank + 1) / 2)}
    assert found.scores.per_pos["n"]["bcubed"] == pytest.approx(bank)
    assert found.baselines["one cluster per lemma"].totals == found.scores.totals


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("sentence,lemma\n", "no column 'lexsn'"),
        (TABLE.replace('"(4, 8)"', "4-8"), "line 3: pos should be"),
        (TABLE.replace('"(4, 8)"', '"(4, 94)"'), r"line 3: there is no word at \(4, 94\)"),
        (TABLE.replace("Bank,1:14:00::", "Bank,"), "line 3: lemma and lexsn should not be empty"),
        (TABLE.replace("It was a", '"It was a' + "x" * 200_000), "line 5: field larger than"),
        (TABLE[: TABLE.index('"Sir')], "holds no occurrences"),
    ],
)
def test_other_files(tmp_path, text, sentence):
    (tmp_path / "test_all.csv").write_text(text)
    with pytest.raises(UserError, match=sentence):
        semcor_wsi.read(tmp_path)
    with pytest.raises(UserError, match="name the folder of SemCor-WSI, or SemCor itself"):
        semcor_wsi.read(tmp_path / "nowhere")
    with pytest.raises(UserError, match="has no dev_all.csv"):
        semcor_wsi.read(tmp_path, "dev")
    with pytest.raises(UserError, match="choose from test, dev"):
        semcor_wsi.read(tmp_path, "Test")


def test_drawn_from_semcor(wsd_folder, tmp_path):
    """Lemmas of two occurrences or more; senses that are not in WordNet count too."""
    dataset = semcor_wsi.read(tmp_path / "semcor3.0.tar.gz")
    assert [i.text[i.start : i.end] for i in dataset.instances] == ["bank", "banks", "bank", "bank"]
    assert [next(iter(labels)) for labels in dataset.gold["bank.n"].values()] == [
        "1:17:01::",
        "1:14:00::",
        "1:14:00::",
        "1:14:00::",
    ]


def test_parts_are_drawn_to_their_size(tmp_path, monkeypatch):
    """Six words, twice each, and one ten times, which does not fit into four occurrences."""
    words = [*"abcdef"] * 2 + ["g"] * 10
    text = "".join(f"<wf cmd=done lemma={word} wnsn=1 lexsn=1:00:00::>{word}</wf>\n" for word in words)
    folder = tmp_path / "semcor" / "brown1" / "tagfiles"
    folder.mkdir(parents=True)
    (folder / "br-a01").write_text(f"<s snum=1>{text}</s>")
    monkeypatch.setattr(semcor_wsi, "OCCURRENCES", 4)
    test, dev = (semcor_wsi.read(tmp_path / "semcor", part) for part in ("test", "dev"))
    assert len(test.instances) == len(dev.instances) == 4
    assert len({*test.gold, *dev.gold} - {"g.n"}) == 4


@pytest.mark.slow
def test_the_set_that_is_drawn(data):
    """As many occurrences as the authors' set, about as many senses a lemma, and nothing in both parts."""
    parts = [semcor_wsi.read(data / "eval/semcor3.0.tar.xz", part) for part in ("test", "dev")]
    for dataset in parts:
        assert 14_900 < len(dataset.instances) <= 15_000
        senses = [len({sense for labels in rows.values() for sense in labels}) for rows in dataset.gold.values()]
        assert 1.6 < sum(senses) / len(senses) < 2.2
    assert not set(parts[0].gold) & set(parts[1].gold)
