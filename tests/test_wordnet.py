"""WordNet's files are read as Princeton writes them; what is damaged is named."""

import pytest

from polylm.errors import UserError
from polylm.wordnet import WordNet, sense_keys

INDEX = """bank%1:14:00:: 08420278 2 20
bank%1:17:01:: 09213565 1 25
cold%3:00:01:: 01251128 1 40
cold%5:00:00:cool:00 01252399 2 0
"""
NOUNS = """  1 This software and database is being provided to you
08420278 14 n 02 bank 0 depository 1 002 @ 09213565 n 0000 ~ 09213565 n 0000 | a place for money; "he cashed it at the bank"
09213565 17 n 01 bank 1 001 @ 08420278 n 0000 | sloping land (beside water); "on the bank of the river"; "banks"
"""  # noqa: E501
ADJECTIVES = """01251128 00 a 01 cold 0 001 & 01252399 a 0000 | having a low temperature
01252399 00 s 02 cold 1 chill(ip) 0 000 | of a colour
"""


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "wordnet"
    folder.mkdir()
    (folder / "index.sense").write_text(INDEX)
    (folder / "data.noun").write_text(NOUNS)
    (folder / "data.adj").write_text(ADJECTIVES)
    return folder


def test_synsets(folder):
    wordnet = WordNet(folder)
    assert wordnet.of_word("bank") == [("bank%1:17:01::", "09213565-n"), ("bank%1:14:00::", "08420278-n")]
    assert [synset for _, synset in wordnet.of_word("cold")] == ["01251128-a", "01252399-a"]
    assert wordnet.of_word("nothing") == []
    land = wordnet.synsets["09213565-n"]
    assert land.gloss == "sloping land (beside water)"
    assert land.examples == ("on the bank of the river", "banks")
    assert land.pointers == (("@", "08420278-n"),)
    assert wordnet.synsets["08420278-n"].words == ("bank", "depository")
    assert wordnet.synsets["01252399-a"].words == ("cold", "chill")
    assert sense_keys(folder)["bank", "n"] == ["bank%1:17:01::", "bank%1:14:00::"]


def test_damage(folder):
    (folder / "data.noun").write_text(NOUNS.replace("n 02 bank", "n zz bank"))
    with pytest.raises(UserError, match=r"data\.noun of .*, line 2 is not a synset"):
        WordNet(folder)
    (folder / "data.noun").unlink()
    with pytest.raises(UserError, match="not a whole WordNet"):
        WordNet(folder)
    (folder / "index.sense").write_text("bank 5")
    with pytest.raises(UserError, match="line 1: 'bank 5' is not a sense"):
        WordNet(folder)
    (folder / "index.sense").unlink()
    with pytest.raises(UserError, match="holds no WordNet"):
        WordNet(folder)
    with pytest.raises(UserError, match="there is no"):
        WordNet(folder / "none")


@pytest.mark.slow
def test_all_of_it(data):
    wordnet = WordNet(data / "wordnet-3.0.tar.xz")
    assert len(wordnet.synsets) == 117659  # as Princeton counts them
    assert sum(map(len, wordnet.senses.values())) == 206941
    assert "sloping land" in wordnet.synsets[wordnet.of_word("bank")[0][1]].gloss
