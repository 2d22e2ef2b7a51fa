"""The English model as users get it: small, whole, and it knows its senses."""

import pytest

import polylm
from polylm.explore.model import PRETRAINED

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def english():
    return polylm.load(device="cpu")


def test_it_is_small_and_says_what_it_is():
    files = {path.name: path.stat().st_size for path in PRETRAINED.iterdir()}
    assert set(files) == {"README.md", "config.json", "model.safetensors", "senses.npz", "text.json", "vocabulary.tsv"}
    assert sum(files.values()) <= 50e6
    card = (PRETRAINED / "README.md").read_text(encoding="utf-8")
    for part in ("## How it was made", "licence", "## How good it is", "## What it cannot do"):
        assert part in card


def test_what_the_card_says(english):
    card = (PRETRAINED / "README.md").read_text(encoding="utf-8")
    facts = english.facts()
    assert facts["parameters"] <= 60_000_000
    assert f"{facts['words_of_several_senses']:,}" in card.replace("\n", " ")
    assert f"{facts['senses']:,} senses" in card.replace("\n", " ")
    assert f"Granularity {facts['granularity']}" in card


@pytest.mark.parametrize(
    ("word", "one", "other"),
    [
        (
            "bank",
            ["He sat on the {} of the river.", "We walked on the muddy {} of the stream.", "The lake's {} is steep."],
            ["She took a loan from the {}.", "The {} raised its interest rates.", "Investors sued the {} for fraud."],
        ),
        (
            "mouse",
            ["Click the left {} button to open the menu.", "The computer came with a keyboard and a {}."],
            ["The cat chased a {} across the kitchen.", "A {} ran into its hole in the wall."],
        ),
        (
            "plant",
            ["The {} needs water and light to grow.", "This {} has yellow flowers."],
            ["The nuclear power {} was shut down.", "Workers at the car {} went on strike."],
        ),
        (
            "bass",
            ["He plays {} guitar in a rock band.", "The song has a strong drum and {} line."],
            ["We caught a large {} in the lake.", "The river is full of trout and {}."],
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("read_out", ["reading", "both"])
def test_homonyms(english, word, one, other, read_out, request):
    """The senses on one side are none of those on the other."""
    if (word, read_out) == ("mouse", "reading"):  # 0.58 to 0.37 for the animal in the sentence with the keyboard
        request.applymarker(pytest.mark.xfail(reason="read in one pass, a rare sense is missed", strict=True))

    def senses(texts):
        tagged = english.tag_many([text.format(word) for text in texts], read_out=read_out)
        return {token.sense for tokens in tagged for token in tokens if token.lemma == word}

    assert not senses(one) & senses(other)


def test_neighbours_and_substitutes(english):
    river = next(t.sense for t in english.tag("He sat on the bank of the river.") if t.lemma == "bank")
    assert "shore" in {key.rpartition("#")[0] for key, _ in english.most_similar(river, 5)}
    assert "shore" in dict(english.substitutes("He sat on the [bank] of the river.", topn=10))
    like, unlike = (
        english.embed("He sat on the [bank] of the river.") @ english.embed(text)
        for text in ("They lay on the [shore] of the lake.", "She took a loan from the [bank].")
    )
    assert like > unlike


def test_development_scores(english, data):
    """A fall below what was measured (70.9 and 18.1) is a defect, not noise: nothing here is random."""
    from polylm.evaluation import own, semeval2013
    from polylm.evaluation.systems import PolyLMSystem
    from polylm.evaluation.wsi import evaluate

    trial = semeval2013.read_trial(data / "eval" / "semeval2013-trial")
    assert evaluate(trial, PolyLMSystem(english), baselines=False).scores.totals["avg"] > 0.165
    dev = own.read(data / "eval" / "wsi-dev.jsonl.xz")
    assert evaluate(dev, PolyLMSystem(english), baselines=False).scores.totals["avg"] > 0.70


def test_substitutes_tell_senses_apart(english):
    by_key = {key: set(sense.substitutes) for sense in english.senses("mouse") for key in [sense.key]}
    assert any({"keyboard", "joystick"} <= words for words in by_key.values())
    assert any({"cat", "rat"} <= words for words in by_key.values())


@pytest.mark.parametrize(
    ("form", "usual"),
    [
        ("dogs", "dog"), ("Mice", "mouse"), ("women", "woman"), ("leaves", "leaf"),  # rare alone
        ("saw", "saw"), ("left", "left"), ("goods", "goods"), ("used", "used"), ("worst", "worst"),  # their own
        ("states", "states"), ("geese", "geese"), ("bank", "bank"), ("went", "go"),  # common, base and unknown forms
    ],
)  # fmt: skip
def test_what_a_form_mostly_stands_for(english, form, usual):
    lookup = english.lexicon.lookup
    assert lookup(form).word == lookup(usual).word == usual
    assert english.similarity(form, "river") == english.similarity(usual, "river")
    assert english.senses(form) == english.senses(usual)
    assert english.senses(form, as_is=True)[0].key.startswith(f"{lookup(form).form}#")
