import time
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polylm.errors import UserError
from polylm.text.tokenizer import cut, from_words, iter_tokens, normalize, tokenize

CASES = {
    "don't won't CAN'T isn’t": "do n't wo n't CA N'T is n't",
    "cannot gonna Gotta canopy": "can not gon na Got ta canopy",
    "the bank's dogs' o'clock O'Brien's I'd've": "the bank 's dogs ' o'clock O'Brien 's I 'd 've",
    "they’re we'll rock'n'roll 'em '90s": "they 're we 'll rock'n'roll 'em '90s",
    "well-known ex–wife a -- b": "well - known ex - wife a - b",
    "1,000.50 10:30 1/2 1990s 3rd .5 -5 20%": "1,000.50 10:30 1/2 1990s 3rd .5 - 5 20 %",
    "$5 (see [1]) {x}": "$ 5 ( see [ 1 ] ) { x }",
    "wait... and…": "wait ... and ...",
    "“a” ‘b’ ``c'' \"d\" «e»": '" a " \' b \' " c " " d " " e "',
    "-LRB- x -RRB- -LSB- -RSB- -LCB- -RCB-": "( x ) [ ] { }",
    "yes /. no /? and/or": "yes . no ? and / or",
    "Mr. Smith etc. e.g. U.S. U.S.A J. R. I.": "Mr. Smith etc. e.g. U.S. U.S.A J. R. I .",
    "the end. The end.Start": "the end . The end . Start",
    "Ph.D. AT&T R&D Q&A": "Ph.D. AT&T R&D Q&A",
    "http://a.org/b?c=d, www.x.com. me@x.co.uk; x.org": "http://a.org/b?c=d , www.x.com . me@x.co.uk ; x.org",
    "what?! no!!! ***": "what ? ! no ! *",
    "co\u00adop x\u200by": "coop xy",
    "cafe\u0301 naïve ﬁne Ｗide": "café naïve fine Wide",
    "हिन्दी 日本 русские": "हिन्दी 日本 русские",
    "👍🏽 ❤️": "👍🏽 ❤️",
    "": "",
    " \t\n\u00a0\u2003 ": "",
}


@pytest.mark.parametrize(("text", "expected"), CASES.items())
def test_reads(text, expected):
    assert " ".join(token.norm for token in tokenize(text)) == expected


@given(st.text() | st.text(alphabet="an't-.'’`\u0301\u200d\"(/1,@ \n👍w:"))
def test_every_character_is_in_exactly_one_token(text):
    position = 0
    for token in tokenize(text):
        assert text[position : token.start].strip() == ""
        assert token.start < token.end
        assert text[token.start : token.end] == token.text
        position = token.end
    assert text[position:].strip() == ""


@given(st.text())
def test_norms_hold_no_white_space_and_are_never_empty(text):
    for token in tokenize(text):
        assert token.norm
        assert not any(character.isspace() for character in token.norm)


@given(st.text(min_size=1).filter(lambda piece: not any(character.isspace() for character in piece)))
def test_a_piece_is_cut_alike_anywhere(piece):
    alone = [(token.text, token.norm) for token in cut(piece)]
    within = [(token.text, token.norm) for token in tokenize(f"before {piece} after")]
    assert within[1:-1] == alone


def test_words_that_are_tokens_are_left_whole():
    tokens = from_words(["New-York", "``", "bank's", "-LRB-"])
    assert [token.norm for token in tokens] == ["New-York", '"', "bank's", "("]
    text = "New-York `` bank's -LRB-"
    assert [text[token.start : token.end] for token in tokens] == [token.text for token in tokens]
    with pytest.raises(UserError, match="word 1"):
        from_words(["a", " "])


def test_normalize_keeps_a_spacing_accent_that_unicode_would_take_apart():
    assert normalize("\u00b4") == "\u00b4"


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "a-",
        "a'",
        ".",
        "a.",
        "aa.",
        "a@",
        "n't",
        "1.",
        "http://",
        "\u0301",
        "'s",
        "A&",
        "www.",
        "👨‍👩‍👧",
        "x ",
        "🇦",
        "\u0301\u0316",
    ],
)
def test_time_is_linear(unit):
    def seconds(length):
        text = unit * (length // len(unit))
        best = min(_timed(lambda: sum(1 for _ in iter_tokens(text))) for _ in range(3))
        return best + 2e-3

    assert seconds(400_000) < 12 * seconds(100_000)  # 4 if linear, 16 if quadratic


@pytest.mark.slow
def test_a_line_of_100_megabytes_is_streamed():
    line = ("a bank, " + "x" * 990 + " ") * 100_000
    assert len(line) >= 99_000_000
    tracemalloc.start()
    try:
        n_tokens = sum(1 for _ in iter_tokens(line))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert n_tokens == 400_000
    assert peak < 1_000_000


def _timed(action):
    started = time.perf_counter()
    action()
    return time.perf_counter() - started
