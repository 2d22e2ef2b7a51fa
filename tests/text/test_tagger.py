import numpy as np
import pytest
from benchmarks.tagger import read, scores
from hypothesis import given, settings
from hypothesis import strategies as st

from polylm.errors import UserError
from polylm.text.tagger import CompactTagger, SpacyTagger, feature_rows

WORDS = "The banks were running a bank they left better . , n't 's walks café 日本 1990s XIV -".split()


@pytest.fixture(scope="module")
def tagger():
    return CompactTagger()


def test_tags_by_context(tagger):
    lines = ["He left the bank .", "On the left side", "She walks and the walks tire her .", "They have been seen ."]
    tags = tagger.tag([line.split() for line in lines])
    assert tags[0] == ["PRP", "VBD", "DT", "NN", "."]
    assert tags[1] == ["IN", "DT", "JJ", "NN"]
    assert (tags[2][1], tags[2][4]) == ("VBZ", "NNS")
    assert tags[3] == ["PRP", "VBP", "VBN", "VBN", "."]


def test_nothing_in_nothing_out(tagger):
    assert tagger.tag([]) == []
    assert tagger.tag([[]]) == [[]]
    assert tagger.tag([[], ["Hello"], []])[1] == tagger.tag([["Hello"]])[0]


@settings(max_examples=50)
@given(st.lists(st.lists(st.sampled_from(WORDS) | st.text(min_size=1, max_size=6), max_size=12), max_size=8))
def test_a_line_gets_the_same_tags_alone_and_among_others(lines):
    tagger = CompactTagger()
    together = tagger.tag(lines)
    tagger.forget()
    assert [tagger.tag([line])[0] for line in lines] == together


def test_a_line_longer_than_a_block_is_tagged_as_if_it_were_whole(tagger):
    words = (WORDS * 400)[:5000]
    whole = tagger.tag([words])[0]
    for start in (0, 2040, 2050, 4090, 4950):
        part = tagger.tag([words[start : start + 40]])[0]
        assert part[3:-3] == whole[start : start + 40][3:-3]  # all but what sees beyond the cut


def test_float_sums_are_exact_integers(tagger):
    """The same network in int64, word by word: equal, and within what float32 holds exactly."""
    words = [*WORDS, "Unheard-of", "xyzzying"]
    weights = [(w.astype(np.int64), b.astype(np.int64)) for w, b in tagger._layers]
    scales = [float(scale) for scale in tagger._scales]
    largest = 0

    def activate(sums, scale, lowest):
        nonlocal largest
        largest = max(largest, int(np.abs(sums).max()))
        return np.clip(np.rint(np.float32(scale) * sums.astype(np.float32)), lowest, 127).astype(np.int64)

    letters = tagger._features[feature_rows(words, len(tagger._features))].astype(np.int64).sum(axis=1)
    x = activate(letters + tagger._feature_bias.astype(np.int64), scales[0], 0)
    x = activate(x @ weights[0][0] + weights[0][1], scales[1], -127)
    for width, (weight, bias), scale in ((5, weights[1], scales[2]), (3, weights[2], scales[3])):
        if width == 5:
            x = np.pad(x, ((5, 5), (0, 0)))  # reach of both windows, and two more for the first
        windows = np.stack([x[i : i + width].reshape(-1) for i in range(len(x) - width + 1)])
        x = activate(windows @ weight + bias, scale, 0)
    scores = x[2:-2] @ weights[3][0] + weights[3][1]
    expected = [tagger.tags[index] for index in scores.argmax(axis=1)]
    assert max(largest, int(np.abs(scores).max())) < 2**24
    assert tagger.tag([words])[0] == expected


def test_no_weights_can_leave_the_exact_range(tagger):
    for weight, bias in tagger._layers:
        assert (127 * np.abs(weight).sum(axis=0) + np.abs(bias)).max() < 2**24


def test_file_is_small_and_a_wrong_one_is_refused(tagger, tmp_path):
    import polylm.text.tagger as module

    path = module.Path(module.__file__).parent / "english.tagger"
    assert path.stat().st_size < 10_000_000
    damaged = tmp_path / "damaged.tagger"
    damaged.write_bytes(path.read_bytes()[:1000])
    for wrong in (damaged, tmp_path / "none.tagger"):
        with pytest.raises(UserError, match=wrong.name):
            CompactTagger(wrong)


@pytest.mark.slow
def test_spacy_has_the_same_interface():
    pytest.importorskip("spacy")
    tagger = SpacyTagger()
    lines = [["He", "left", "the", "banks", "."], [], ["They", "walk"]]
    assert tagger.tag(lines) == [["PRP", "VBD", "DT", "NNS", "."], [], ["PRP", "VBP"]]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "merged"), [("brown", True), ("ewt_test", False)])
def test_as_good_as_its_teacher(data, name, merged):
    pytest.importorskip("spacy")
    lines = read(data / "tagging" / f"{name}.jsonl.xz")
    ours, teacher = (scores(tagger, lines, merged) for tagger in (CompactTagger(), SpacyTagger()))
    assert all(ours[measure] >= teacher[measure] for measure in ours), f"{ours} against spaCy's {teacher}"
