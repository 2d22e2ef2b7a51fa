"""spaCy's docs get the senses that the library gives."""

import pytest

from tests.shared.models import make_model

pytestmark = pytest.mark.slow
TEXTS = ["He sat on the banks of the river.", "", "  Cold water,\n\nand the bank", "zyzzyva"]


@pytest.fixture
def nlp(tmp_path):
    spacy = pytest.importorskip("spacy")
    make_model(granularity=0.5).save_pretrained(tmp_path)
    nlp = spacy.blank("en")
    nlp.add_pipe("polylm", config={"model": str(tmp_path), "device": "cpu"})  # found by its entry point
    return nlp


def test_senses_equal_the_librarys(nlp, tmp_path):
    import polylm

    model = polylm.load(tmp_path, device="cpu")
    for doc, text in zip(nlp.pipe(TEXTS), TEXTS, strict=True):
        assert doc.text == text
        words = [token.text for token in doc if not token.is_space]
        for token, expected in zip((t for t in doc if not t.is_space), model.tag_tokens(words), strict=True):
            assert token._.sense == expected.sense
            assert token._.senses == expected.distribution
        assert all(token._.sense is None for token in doc if token.is_space)


def test_one_doc(nlp):
    doc = nlp(TEXTS[0])
    bank = doc[4]
    assert bank.text == "banks"
    assert bank._.sense in ("bank#1", "bank#2")
    assert max(bank._.senses, key=bank._.senses.get) == bank._.sense
