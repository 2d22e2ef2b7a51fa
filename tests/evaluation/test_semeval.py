"""Reading SemEval-2010 and 2013: every instance, every focus, in each of the layouts."""

import shutil

import pytest

from polylm.errors import UserError
from polylm.evaluation import semeval2010, semeval2013
from polylm.reading.targets import encode
from polylm.text.lemmatizer import lemmas_of


def focuses(dataset):
    return {i.id: i.text[i.start : i.end] for i in dataset.instances}


def test_2010(semeval2010_folder):
    dataset = semeval2010.read(semeval2010_folder)
    assert focuses(dataset) == {
        "bank.n.1": "banks",
        "bank.n.2": "bank",
        "bank.n.3": "Bank",
        "wait.v.1": "waiting",
        "wait.v.2": "waits",
    }
    first, second = dataset.instances[:2]
    assert first.text == "They sat . He waited at the banks of the river . It was cold ."
    assert (second.lemma, second.pos, second.target, second.start) == ("bank", "n", "bank.n", 4)
    assert dataset.gold["bank.n"]["bank.n.2"] == {"bank.n.0": 1.0}


@pytest.mark.parametrize(
    ("sentence", "lemma", "pos", "found"),
    [
        ("He lay down .", "lie", "v", "lay"),
        ("She figgered it out .", "figure", "v", "figgered"),
        ("A half-straightened road .", "straighten", "v", "straightened"),
        ("The Markets fell as the market did .", "market", "n", "Markets"),
        ("Nothing here .", "market", "n", None),
    ],
)
def test_focus_of_2010(sentence, lemma, pos, found):
    span = semeval2010.find_focus(sentence, lemma, pos)
    assert (sentence[slice(*span)] if span else None) == found


@pytest.mark.slow
def test_2010_whole(data):
    dataset = semeval2010.read(data / "eval/semeval2010")
    assert len(dataset.instances) == 8915
    assert len({i.target for i in dataset.instances}) == len(dataset.gold) == 100
    assert {i.id for i in dataset.instances} == {i for instances in dataset.gold.values() for i in instances}
    odd = {"lay": "lie", "lah": "lie", "figger": "figure", "figgered": "figure"}
    for i in dataset.instances:
        form = i.text[i.start : i.end].lower()
        assert form == i.lemma or i.lemma in lemmas_of(form, i.pos) or odd.get(form) == i.lemma, i.id


def test_2013(semeval2013_folder):
    dataset = semeval2013.read(semeval2013_folder)
    assert focuses(dataset) == {"color.n.1": "colours", "color.n.2": "color", "cold.j.1": "Colder", "cold.j.2": "cold"}
    assert dataset.instances[0].text == "The colours of the river, and of the water."
    assert dataset.instances[1].text == "It was (color) to the bank."
    assert "cold.j.2" not in dataset.gold["cold.j"]


def test_2013_flavours_are_one(semeval2013_folder):
    both = semeval2013.read(semeval2013_folder)
    shutil.rmtree(semeval2013_folder / "contexts/senseval2-format")
    offsets = semeval2013.read(semeval2013_folder)
    outside = {"cold.j.2"}
    assert {i.id: i for i in both.instances if i.id not in outside} == {i.id: i for i in offsets.instances}
    shutil.rmtree(semeval2013_folder / "contexts/xml-format")
    with pytest.raises(UserError, match="holds neither"):
        semeval2013.read(semeval2013_folder)


def test_2013_whole(data):
    dataset = semeval2013.read(data / "eval/semeval2013")
    assert len(dataset.instances) == 4672
    assert len({i.target for i in dataset.instances}) == len(dataset.gold) == 50
    inside = {i for instances in dataset.gold.values() for i in instances}
    assert len(inside) == 4664
    assert {i.id for i in dataset.instances} - inside == {
        *("dark.j.34", "find.v.30", "image.n.97", "live.v.41", "poor.j.78", "poor.j.84", "trace.n.13", "window.n.93")
    }
    offsets = semeval2013.read_offsets(data / "eval/semeval2013/contexts/xml-format")
    assert {i.id for i in offsets} == inside
    by_id = {i.id: i for i in dataset.instances}
    for i in offsets:
        other = by_id[i.id]
        assert (i.lemma, i.pos, i.text[i.start : i.end]) == (
            other.lemma,
            other.pos,
            other.text[other.start : other.end],
        )


@pytest.mark.slow
def test_2013_flavours_give_the_same_ids(data):
    """Spaces differ between the two; what the model reads does not."""
    from polylm.corpus.selection import SPECIAL
    from polylm.text.pipeline import TextPipeline

    class Numbered(dict):
        def get(self, word, default=None):
            return self.setdefault(word, len(self))

    numbered = Numbered({symbol: number for number, symbol in enumerate(SPECIAL)})
    pipeline = TextPipeline(numbered)
    offsets = semeval2013.read_offsets(data / "eval/semeval2013/contexts/xml-format")
    by_id = {i.id: i for i in semeval2013.read(data / "eval/semeval2013").instances}
    first = encode([i.as_target() for i in offsets], pipeline, 128)
    second = encode([by_id[i.id].as_target() for i in offsets], pipeline, 128)
    assert (first.ids == second.ids).all()
    assert (first.position == second.position).all()
    assert first.known.all()


def test_trial(data):
    dataset = semeval2013.read_trial(data / "eval/semeval2013-trial")
    assert len(dataset.instances) == 400
    assert len(dataset.gold) == 8
    assert {i.id for i in dataset.instances} == {i for instances in dataset.gold.values() for i in instances}
    for i in dataset.instances:
        form = i.text[i.start : i.end].lower()
        assert form == i.lemma or i.lemma in lemmas_of(form, i.pos), i.id


@pytest.mark.parametrize("read", [semeval2010.read, semeval2013.read, semeval2013.read_trial])
def test_what_is_not_there(tmp_path, read):
    with pytest.raises(UserError, match=r"there is no folder .* Get it from https://.* and put into one folder"):
        read(tmp_path / "nowhere")
    with pytest.raises(UserError, match=r"does not hold the data set: it has no .* Get it from"):
        read(tmp_path)


def test_broken_files(semeval2010_folder, semeval2013_folder):
    path = semeval2010_folder / "test_data/nouns/bank.n.xml"
    whole = path.read_text()
    path.write_text(whole[:-20])
    with pytest.raises(UserError, match=r"bank\.n\.xml is not well-formed XML"):
        semeval2010.read(semeval2010_folder)
    path.write_text(whole.replace("TargetSentence", "Sentence"))
    with pytest.raises(UserError, match=r"<bank\.n\.1> is not an instance"):
        semeval2010.read(semeval2010_folder)
    path.write_text(whole.replace("bank", "rank").replace("rank.n", "bank.n"))
    with pytest.raises(UserError, match=r"no word of the target sentence of bank\.n\.1 has the lemma bank"):
        semeval2010.read(semeval2010_folder)
    path = next((semeval2013_folder / "contexts/senseval2-format").iterdir())
    path.write_text(path.read_text().replace("head>", "h>"))
    with pytest.raises(UserError, match=r"'color\.n\.1' of 'color\.n' has no context with a <head>"):
        semeval2013.read(semeval2013_folder)
    path.unlink()
    path = semeval2013_folder / "contexts/xml-format/color.n.xml"
    path.write_text(path.read_text().replace("tokenStart", "begin"))
    with pytest.raises(UserError, match="lacks its id, lemma or offsets"):
        semeval2013.read(semeval2013_folder)
