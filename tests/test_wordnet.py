"""WordNet's files are read as Princeton writes them; what is damaged is named."""

import pytest

from polylm.errors import UserError
from polylm.wordnet import WordNet, sense_keys
from tests.shared.wordnet import NOUNS


def test_synsets(wordnet_folder):
    wordnet = WordNet(wordnet_folder)
    assert wordnet.of_word("bank") == [("bank%1:17:01::", "09213565-n"), ("bank%1:14:00::", "08420278-n")]
    assert [synset for _, synset in wordnet.of_word("cold")] == ["01251128-a", "01252399-a"]
    assert wordnet.of_word("nothing") == []
    land = wordnet.synsets["09213565-n"]
    assert land.gloss == "sloping land (beside water)"
    assert land.examples == ("on the bank of the river", "banks")
    assert land.pointers == (("@", "08420278-n"),)
    assert wordnet.synsets["08420278-n"].words == ("bank", "depository")
    assert wordnet.synsets["01252399-a"].words == ("cold", "chill")
    assert sense_keys(wordnet_folder)["bank", "n"] == ["bank%1:17:01::", "bank%1:14:00::"]


def test_damage(wordnet_folder):
    (wordnet_folder / "data.noun").write_text(NOUNS.replace("n 02 bank", "n zz bank"))
    with pytest.raises(UserError, match=r"data\.noun of .*, line 2 is not a synset"):
        WordNet(wordnet_folder)
    (wordnet_folder / "data.noun").unlink()
    with pytest.raises(UserError, match="not a whole WordNet"):
        WordNet(wordnet_folder)
    (wordnet_folder / "index.sense").write_text("bank 5")
    with pytest.raises(UserError, match="line 1: 'bank 5' is not a sense"):
        WordNet(wordnet_folder)
    (wordnet_folder / "index.sense").unlink()
    with pytest.raises(UserError, match="holds no WordNet"):
        WordNet(wordnet_folder)
    with pytest.raises(UserError, match="there is no"):
        WordNet(wordnet_folder / "none")


@pytest.mark.slow
def test_all_of_it(data):
    wordnet = WordNet(data / "wordnet-3.0.tar.xz")
    assert len(wordnet.synsets) == 117659  # as Princeton counts them
    assert sum(map(len, wordnet.senses.values())) == 206941
    assert "sloping land" in wordnet.synsets[wordnet.of_word("bank")[0][1]].gloss
