import pytest
from hypothesis import given
from hypothesis import strategies as st

from polylm.corpus.selection import (
    Threshold,
    VocabularySettings,
    choose_vocabulary,
    read_focus_words,
    read_n_senses,
)
from polylm.errors import UserError
from polylm.symbols import SPECIAL
from polylm.text.lemmatizer import MARKERS
from polylm.text.vocabulary import Vocabulary

COUNTS = {
    "[LINE]": 50,
    "the": 900,
    "bank": 300,
    ",": 800,
    "river": 40,
    "rare": 4,
    "[PL]": 250,
    "zebra": 40,
    "1990s": 500,
}
N_WORDS = 900 + 300 + 800 + 40 + 4 + 40 + 500


def build(**settings):
    return choose_vocabulary(COUNTS.items(), N_WORDS, VocabularySettings(**settings))


def test_thresholds():
    assert Threshold.parse("40").count(10**9) == 40
    rate = Threshold.parse("0.17/M", floor=5)
    assert (rate.count(1000), rate.count(215_000_000)) == (5, 37)
    assert str(rate) == "0.17/M"
    assert [str(Threshold.parse(t)) for t in ("1000001", "0.1700001/M", "6/M")] == ["1000001", "0.1700001/M", "6/M"]
    for wrong in ("", "x", "-3", "1.5", "3/K", "1e3", "∞", "9" * 400 + "/M"):
        with pytest.raises(UserError, match="threshold"):
            Threshold.parse(wrong)


def test_defaults_follow_the_size_of_the_corpus():
    vocabulary = build()
    assert vocabulary.words[:4] == list(SPECIAL)
    assert vocabulary.words[4:] == [
        "the",
        ",",
        "1990s",
        "bank",
        "[PL]",
        "river",
        "zebra",
        *sorted(set(MARKERS) - {"[PL]"}),
    ]
    assert dict(zip(vocabulary.words, vocabulary.n_senses, strict=True)) == {
        **dict.fromkeys(vocabulary.words, 1),
        "the": 8,
        "bank": 8,
    }  # alphabetic words above 200 alone
    assert vocabulary.count("[UNK]") == 4
    assert vocabulary.count("[LINE]") == 50


def test_focus_words_are_in_and_polysemous():
    vocabulary = build(focus=("rare", "absent", "river"), senses=5)
    assert {word: vocabulary.n_senses[vocabulary[word]] for word in ("rare", "absent", "river", "zebra")} == {
        "rare": 5,
        "absent": 5,
        "river": 5,
        "zebra": 1,
    }
    assert vocabulary.count("absent") == 0
    assert vocabulary.count("[UNK]") == 0


def test_a_file_of_senses_goes_before_other_rules():
    vocabulary = build(n_senses={"the": 1, "rare": 3}, focus=("the",))
    assert (vocabulary.n_senses[vocabulary["the"]], vocabulary.n_senses[vocabulary["rare"]]) == (1, 3)


def test_max_words():
    vocabulary = build(max_words=len(MARKERS) + 2, focus=("rare",))
    assert set(vocabulary.words) == {*SPECIAL, *MARKERS, "the", "rare"}
    assert vocabulary.count("[UNK]") == N_WORDS - 904
    with pytest.raises(UserError, match="no room"):
        VocabularySettings(max_words=3).required(markers=True)


def test_words_of_any_script_may_have_several_senses():
    settings = VocabularySettings(min_count=Threshold(1), poly_count=Threshold(1))
    counts = {"हिन्दी": 5, "москва": 5, "1990s": 5, "'s": 5}
    vocabulary = choose_vocabulary(counts.items(), 20, settings, markers=False)
    assert [vocabulary.n_senses[vocabulary[word]] for word in counts] == [8, 8, 1, 1]


def test_wrong_numbers():
    for wrong in ({"senses": 0}, {"max_words": 0}):
        with pytest.raises(UserError):
            VocabularySettings(**wrong)


@given(st.dictionaries(st.text(min_size=1).filter(lambda w: not any(c.isspace() for c in w)), st.integers(1, 10**6)))
def test_order_and_round_trip(tmp_path_factory, counts):
    counts = {word: count for word, count in counts.items() if word not in SPECIAL}
    settings = VocabularySettings(min_count=Threshold(1), poly_count=Threshold(1000))
    vocabulary = choose_vocabulary(counts.items(), sum(counts.values()), settings, markers=False)
    again = choose_vocabulary(reversed(counts.items()), sum(counts.values()), settings, markers=False)
    assert vocabulary.to_bytes() == again.to_bytes()
    assert vocabulary.counts[4:] == sorted(counts.values(), reverse=True)
    assert [vocabulary[word] for word in vocabulary] == list(range(len(vocabulary)))
    path = tmp_path_factory.mktemp("vocabulary") / "vocabulary.tsv"
    path.write_bytes(vocabulary.to_bytes())
    loaded = Vocabulary.load(path)
    assert (loaded.words, loaded.counts, loaded.n_senses) == (vocabulary.words, vocabulary.counts, vocabulary.n_senses)
    assert loaded.sha256 == vocabulary.sha256


def test_damaged_vocabulary(tmp_path):
    path = tmp_path / "vocabulary.tsv"
    good = build().to_bytes()
    for wrong in (b"", good[10:], good + good[-20:], good.replace(b"\t8", b"\tx"), b"\xff" + good):
        path.write_bytes(wrong)
        with pytest.raises(UserError, match="vocabulary.tsv"):
            Vocabulary.load(path)


def test_lists_from_files(tmp_path):
    focus = tmp_path / "focus.txt"
    focus.write_text("\ufeffBank\n\nriver # a comment\nbank\ncafe\u0301\n")
    assert read_focus_words(focus) == ("bank", "river", "café")
    for wrong in ("river bank", "well-known", "[PAD]"):
        focus.write_text(f"bank\n{wrong}\n")
        with pytest.raises(UserError, match="line 2"):
            read_focus_words(focus)
    senses = tmp_path / "senses.tsv"
    senses.write_text("bank\t3\nRiver\t1\n")
    assert read_n_senses(senses) == {"bank": 3, "river": 1}
    for wrong in ("bank 3", "bank\t0", "bank\tmany", "\t3", "bank\t-1", "[PAD]\t2", "river\t3"):
        senses.write_text(f"river\t2\n{wrong}\n")
        with pytest.raises(UserError, match="line 2"):
            read_n_senses(senses)
    with pytest.raises(UserError, match="could not be read"):
        read_focus_words(tmp_path / "none")


def test_a_threshold_is_the_least_count_that_will_do():
    settings = VocabularySettings(min_count=Threshold(3), poly_count=Threshold(10))
    found = choose_vocabulary([("a", 10), ("b", 9), ("c", 3), ("d", 2)], 24, settings, markers=False)
    assert found.words[len(SPECIAL) :] == ["a", "b", "c"]
    assert found.n_senses[len(SPECIAL) :] == [8, 1, 1]


def test_a_word_has_at_most_so_many_senses(tmp_path):
    file = tmp_path / "senses.tsv"
    file.write_text("bank\t64\n")
    assert read_n_senses(file) == {"bank": 64}
    file.write_text("bank\t65\n")
    with pytest.raises(UserError, match="1 to 64"):
        read_n_senses(file)
    with pytest.raises(UserError, match="1 to 64"):
        VocabularySettings(senses=65)
