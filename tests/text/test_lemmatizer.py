import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polylm.text.lemmatizer import (
    INFLECTIONS,
    MARKERS,
    Lemmatizer,
    can_have,
    forms_of,
    inflected,
    regular_forms,
)

CASES = [
    ("Banks", "NNS", "bank", "[PL]"),
    ("was", "VBD", "be", "[PAST]"),
    ("Running", "VBG", "run", "[GER]"),
    ("are", "VBP", "be", "[N3RD]"),
    ("goes", "VBZ", "go", "[3RD]"),
    ("put", "VBN", "put", "[PART]"),
    ("bigger", "JJR", "big", "[COMP]"),
    ("faster", "RBR", "fast", "[COMP]"),
    ("oldest", "JJS", "old", "[SUP]"),
    ("best", "RBS", "well", "[SUP]"),
    ("better", "JJR", "good", "[COMP]"),
    ("worse", "RBR", "badly", "[COMP]"),
    ("more", "JJR", "more", "[COMP]"),
    ("least", "RBS", "least", "[SUP]"),
    ("later", "RBR", "late", "[COMP]"),
    ("leaves", "NNS", "leaf", "[PL]"),
    ("leaves", "VBZ", "leave", "[3RD]"),
    ("saw", "VBD", "see", "[PAST]"),
    ("saw", "VBP", "saw", "[N3RD]"),
    ("lay", "VBD", "lie", "[PAST]"),
    ("lay", "VBP", "lay", "[N3RD]"),
    ("cafés", "NNS", "café", "[PL]"),
    ("men", "NNS", "man", "[PL]"),
    ("Englishmen", "NNS", "englishman", "[PL]"),
    ("calories", "NNS", "calorie", "[PL]"),
    ("Bank", "NN", "bank", None),
    ("Smiths", "NNPS", "smiths", None),
    ("can", "MD", "can", None),
    ("'re", "VBP", "'re", None),
    ("1990s", "NNS", "1990s", None),
    ("co-ops", "NNS", "co-ops", None),
]


@pytest.fixture(scope="module")
def lemmatizer():
    return Lemmatizer()


@pytest.mark.parametrize(("word", "tag", "lemma", "marker"), CASES)
def test_lemma_and_marker(lemmatizer, word, tag, lemma, marker):
    assert lemmatizer(word, tag) == (lemma, marker)


def test_ten_tags_share_eight_markers():
    assert {marker for marker, _ in INFLECTIONS.values()} == set(MARKERS)
    assert INFLECTIONS["JJR"][0] == INFLECTIONS["RBR"][0]
    assert INFLECTIONS["JJS"][0] == INFLECTIONS["RBS"][0]
    assert len({INFLECTIONS[tag][0] for tag in INFLECTIONS if tag[0] in "NV"}) == 6


@given(st.text(min_size=1, max_size=20), st.sampled_from([*INFLECTIONS, "NN", "XX", ""]))
def test_any_word_has_a_lemma(word, tag):
    lemmatizer = Lemmatizer()
    lemma, marker = lemmatizer(word, tag)
    assert lemma
    assert (marker is not None) == (tag in INFLECTIONS and word.lower().isalpha())
    assert lemmatizer(word, tag) == (lemma, marker)


def test_what_is_remembered_does_not_change_answers():
    forgetful, lemmatizer = Lemmatizer(max_remembered=1), Lemmatizer()
    assert [forgetful(w, t) for w, t, _, _ in CASES] == [lemmatizer(w, t) for w, t, _, _ in CASES]


@pytest.mark.slow
def test_spacy_is_not_loaded_along():
    pytest.importorskip("spacy")
    code = "import sys; from polylm.text.lemmatizer import Lemmatizer; Lemmatizer(); print('spacy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"


@pytest.mark.parametrize(
    ("word", "own", "others"),
    [
        ("bank", ["banks"], ["banky", "bankes"]),
        ("lad", ["lads"], ["lady", "ladies"]),
        ("lady", ["ladies"], ["lad", "ladyes"]),
        ("ladies", ["lady"], ["ladiesy"]),
        ("box", ["boxes"], []),
        ("boxes", ["box"], []),
        ("pipes", ["pipe"], ["pip"]),
        ("church", ["churches"], []),
        ("heroes", ["hero"], []),
    ],
)
def test_regular_forms(word, own, others):
    forms = regular_forms(word)
    assert forms >= set(own)
    assert not forms & set(others)


@pytest.mark.parametrize(
    ("lemma", "form"), [("congressman", "congressmen"), ("ox", "oxen"), ("badly", "worse"), ("good", "best")]
)
def test_forms_that_are_read_by_rules_of_our_own(lemma, form):
    assert form in forms_of(lemma)


@pytest.mark.parametrize(
    ("lemma", "tag", "form"),
    [
        *(("run", "VBD", "ran"), ("run", "VB", "run"), ("lie", "VBG", "lying"), ("mouse", "NNS", "mice")),
        *(("good", "JJR", "better"), ("well", "RBR", "better"), ("bad", "JJS", "worst"), ("much", "JJR", "more")),
        *(("big", "JJR", "bigger"), ("happy", "JJS", "happiest"), ("clever", "JJR", "cleverer")),
        *(("expensive", "JJR", "more expensive"), ("quickly", "RBS", "most quickly"), ("famous", "JJS", "most famous")),
        *(("early", "RBR", "earlier"), ("englishman", "NNS", "englishmen"), ("human", "NNS", "humans")),
        *(("airstrike", "NNS", "airstrikes"), ("the", "DT", "the"), ("bank", "", "bank")),
        *(("less", "JJR", "less"), ("more", "RBR", "more"), ("least", "RBS", "least"), ("many", "JJR", "more")),
        *(("red", "JJR", "redder"), ("scary", "JJR", "scarier"), ("lonely", "JJS", "loneliest"), ("be", "VBP", "are")),
        *(("blue", "JJR", "bluer"), ("fun", "JJR", "more fun"), ("eager", "JJS", "most eager")),
    ],
)
def test_a_lemma_in_the_form_of_a_tag(lemma, tag, form):
    assert inflected(lemma, tag) == form


def test_what_is_inflected_is_read_as_its_lemma(lemmatizer):
    for lemma, tag in [
        ("run", "VBD"),
        ("mouse", "NNS"),
        ("big", "JJR"),
        ("good", "JJS"),
        ("go", "VBN"),
        ("lie", "VBG"),
    ]:
        assert lemmatizer(inflected(lemma, tag), tag)[0] == lemma


@pytest.mark.parametrize(
    ("lemma", "tag", "can"),
    [
        *(("settlement", "VB", False), ("settle", "VBD", True), ("vaguely", "JJ", False), ("still", "RB", True)),
        *(("airstrike", "NN", True), ("airstrike", "VB", False), ("the", "DT", True), ("sue", "NNP", True)),
        *(("the", "NN", False), ("she", "NNS", False), ("'s", "NN", False), ("more", "JJR", True)),
    ],
)
def test_parts_of_speech_that_a_lemma_can_have(lemma, tag, can):
    assert can_have(lemma, tag) is can
