"""Test sets of a few lines, in the layouts of their organisers."""

import json

import pytest

TEXTS_2010 = {
    "bank.n": [
        ("They sat . ", "He waited at the banks of the river . ", "It was cold ."),
        ("", "The bank was in the river , and the bank sat . ", ""),
        ("It was . ", "She sat on the Bank . ", "He was cold ."),
    ],
    "wait.v": [("", "She was waiting for the money . ", "They sat ."), ("He sat . ", "It waits . ", "")],
}


@pytest.fixture
def semeval2010_folder(tmp_path):
    """In the organisers' layout."""
    root = tmp_path / "semeval2010"
    lines = []
    for target, texts in TEXTS_2010.items():
        folder = root / "test_data" / ("nouns" if target.endswith("n") else "verbs")
        folder.mkdir(parents=True, exist_ok=True)
        items = ""
        for number, (before, sentence, after) in enumerate(texts, 1):
            name = f"{target}.{number}"
            items += f"<{name}>{before}<TargetSentence>{sentence}</TargetSentence>{after}</{name}>"
            lines.append(f"{target} {name} {target}.{number % 2}\n")
        (folder / f"{target}.xml").write_text(f'<?xml version="1.0"?>\n<{target}.test>{items}</{target}.test>')
    gold = root / "evaluation/unsup_eval/keys"
    gold.mkdir(parents=True)
    (gold / "all.key").write_text("".join(lines))
    return root


TEXTS_2013 = [
    ("color.n", "color.n.1", "The ", "colours", " of the river, and of the water."),
    ("color.n", "color.n.2", "It was (", "color", ") to the bank."),
    ("cold.j", "cold.j.1", "", "Colder", " water was in it."),
    ("cold.j", "cold.j.2", "He was ", "cold", ""),
]


@pytest.fixture
def semeval2013_folder(tmp_path):
    """Both flavours; cold.j.2 is not in the gold key, and so not in the second."""
    root = tmp_path / "semeval2013"
    senseval2, offsets = root / "contexts/senseval2-format", root / "contexts/xml-format"
    for folder in (senseval2, offsets, root / "keys/gold"):
        folder.mkdir(parents=True)
    xml = ""
    for target in ("color.n", "cold.j"):
        lemma, pos = target.split(".")
        items = ""
        xml += f'<lexelt item="{target}">'
        for _, name, left, focus, right in (row for row in TEXTS_2013 if row[0] == target):
            gap = [" " if text[-1:] == " " or text[:1] == " " else "" for text in (left, right)]  # as the organisers do
            context = f"{left}{gap[0]}<head>{focus}</head>{gap[1]}{right}"
            xml += f'<instance id="{name}"><context>{context}</context></instance>'
            if name != "cold.j.2":
                place = f'tokenStart="{len(left)}" tokenEnd="{len(left) + len(focus)}"'
                about = f'id="{name}" lemma="{lemma}" partOfSpeech="{pos}" token="{focus}" {place}'
                items += f"<instance {about}>{left}{focus}{right}</instance>"
        xml += "</lexelt>"
        (offsets / f"{target}.xml").write_text(f'<instances lemma="{lemma}" partOfSpeech="{pos}">{items}</instances>')
    (senseval2 / "semeval-2013-task-13-test-data.senseval2.xml").write_text(f"<corpus>{xml}</corpus>")
    gold = "color.n color.n.1 color%1:07:00::/4\ncolor.n color.n.2 color%1:07:00::/2 color%1:15:00::/4\n"
    (root / "keys/gold/all.key").write_text(gold + "cold.j cold.j.1 cold%3:00:01::/4\n")
    return root


@pytest.fixture
def own_file(tmp_path):
    rows = [
        {"left": "He sat on the ", "focus": "bank", "right": " of the river.", "lemma": "bank", "sense": "1"},
        {"left": "Money in the ", "focus": "bank", "right": ".", "lemma": "bank", "sense": "2"},
        {"left": "The ", "focus": "banks", "right": " of the river.", "lemma": "bank", "sense": "1"},
        {"left": "He ", "focus": "waited", "right": ".", "lemma": "wait", "pos": "v", "sense": "1"},
        {"left": "She ", "focus": "waits", "right": " at the river.", "lemma": "wait", "pos": "v", "sense": "1"},
        {"left": "A ", "focus": "zyzzyva", "right": " sat.", "lemma": "zyzzyva", "sense": "1"},
    ]
    path = tmp_path / "mine.jsonl"
    path.write_text("\n".join(json.dumps({"pos": "n", **row}) for row in rows) + "\n")
    return path


@pytest.fixture
def wic_folder(tmp_path):
    root = tmp_path / "wic"
    pairs = [
        ("bank\tN\t3-1\tHe sat at banks .\tThe bank was cold .", "T"),
        ("wait\tV\t1-2\tShe waits for it .\tThey were waiting .", "F"),
        ("zyzzyva\tN\t1-1\tA zyzzyva sat .\tThe zyzzyva was cold .", "T"),
    ]
    for split, n in (("train", 4), ("dev", 2), ("test", 1)):
        (root / split).mkdir(parents=True)
        (root / split / f"{split}.data.txt").write_text("".join(f"{row}\n" for row, _ in pairs * n))
        (root / split / f"{split}.gold.txt").write_text("".join(f"{label}\n" for _, label in pairs * n))
    return root


@pytest.fixture
def wsd_folder(tmp_path):
    """The framework with one data set, SemCor as an archive, WordNet as a folder."""
    import io
    import tarfile

    root = tmp_path / "wsd"
    folder = root / "Evaluation_Datasets" / "senseval2"
    folder.mkdir(parents=True)
    (folder / "senseval2.data.xml").write_text(
        '<corpus><text id="d0"><sentence id="d0.s0"><wf lemma="the" pos="DET">The</wf>'
        '<instance id="d0.s0.t0" lemma="bank" pos="NOUN">banks</instance>'
        '<wf lemma="of" pos="ADP">of</wf><wf lemma="the" pos="DET">the</wf>'
        '<instance id="d0.s0.t1" lemma="river" pos="NOUN">river</instance></sentence>'
        '<sentence id="d0.s1"><wf lemma="she" pos="PRON">She</wf>'
        '<instance id="d0.s1.t0" lemma="sit_down" pos="VERB">sat_down</instance>'
        '<wf lemma="," pos=".">,</wf><instance id="d0.s1.t1" lemma="cold" pos="ADJ">cold</instance></sentence>'
        "</text></corpus>"
    )
    (folder / "senseval2.gold.key.txt").write_text(
        "d0.s0.t0 bank%1:17:01::\nd0.s0.t1 river%1:17:00::\nd0.s1.t0 sit_down%2:38:00::\n"
        "d0.s1.t1 cold%3:00:02:: cold%3:00:01::\n"
    )
    semcor = b"""<contextfile concordance=brown><context filename=br-a01><p pnum=1><s snum=1>
<wf cmd=ignore pos=DT>The</wf>
<wf cmd=done pos=NN lemma=bank wnsn=1 lexsn=1:17:01::>bank</wf>
<wf cmd=done pos=NN lemma=bank wnsn=2;1 lexsn=1:14:00::;1:17:01::>banks</wf>
<wf cmd=done pos=NN lemma=bank wnsn=0 lexsn=1:14:00::>bank</wf>
<wf cmd=done pos=NN lemma=bank wnsn=2 lexsn=1:14:00::>bank</wf>
<wf cmd=done rdf=sit_down pos=VB lemma=sit_down wnsn=1 lexsn=2:38:00::>sat_down</wf>
<punc>.</punc></s></p></context></contextfile>"""
    with tarfile.open(tmp_path / "semcor3.0.tar.gz", "w:gz") as archive:
        info = tarfile.TarInfo("semcor3.0/brown1/tagfiles/br-a01")
        info.size = len(semcor)
        archive.addfile(info, io.BytesIO(semcor))
    (tmp_path / "wordnet").mkdir()
    (tmp_path / "wordnet" / "index.sense").write_text(
        "bank%1:14:00:: 08420278 2 20\nbank%1:17:01:: 09213565 1 25\ncold%3:00:01:: 01251128 1 40\n"
        "cold%3:00:02:: 01257145 2 15\nriver%1:17:00:: 09411430 1 26\nsit_down%2:38:00:: 01543123 1 6\n"
    )
    return root
