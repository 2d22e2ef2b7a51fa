"""A WordNet of three words."""

import pytest

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
def wordnet_folder(tmp_path):
    folder = tmp_path / "wordnet"
    folder.mkdir()
    (folder / "index.sense").write_text(INDEX)
    (folder / "data.noun").write_text(NOUNS)
    (folder / "data.adj").write_text(ADJECTIVES)
    return folder
