"""CoNLL-U goes in and comes out as it was, but for the senses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polylm.errors import UserError
from polylm.text.conllu import sentences, with_senses

TEXT = """# sent_id = 1
1-2\tdon't\t_\t_\t_\t_\t_\t_\t_\t_
1\tdo\tdo\tAUX\tVBP\t_\t0\troot\t_\t_
2\tn't\tnot\tPART\tRB\t_\t1\tadvmod\t_\tSpaceAfter=No|Sense=old#9
2.1\tgo\tgo\tVERB\tVB\t_\t_\t_\t_\t_

1\tbanks\tbank\tNOUN\tNNS\t_\t0\troot\t_\t_
"""


def test_words_and_senses():
    first, second = sentences(TEXT.split("\n"))
    assert (first.words, second.words) == (["do", "n't"], ["banks"])
    assert (
        with_senses(first, [(None, None), ("not#1", 0.734)])
        == "".join(line + "\n" for line in TEXT.split("\n")[:5]).replace(
            "SpaceAfter=No|Sense=old#9", "SpaceAfter=No|Sense=not#1|SenseProb=0.73"
        )
        + "\n"
    )
    assert with_senses(second, [("bank#2", 1.0)]).endswith("\tSense=bank#2|SenseProb=1.00\n\n")


@given(st.lists(st.lists(st.text("ab#1_", min_size=1, max_size=4), min_size=1, max_size=4), max_size=4))
def test_without_senses_nothing_changes(texts):
    lines = []
    for words in texts:
        lines += [f"{n}\t{word}" + "\t_" * 8 for n, word in enumerate(words, 1)] + [""]
    found = list(sentences(lines))
    assert [sentence.words for sentence in found] == texts
    assert "".join(with_senses(one, [(None, None)] * len(one.words)) for one in found) == "".join(
        f"{line}\n" for line in lines
    )


def test_what_is_no_conllu():
    with pytest.raises(UserError, match="the input, line 2: not CoNLL-U, 1 of 10 fields"):
        list(sentences(["# text", "The bank"]))


def test_words_with_spaces_are_one_word():
    (sentence,) = sentences(["1\t10 000\t_\t_\t_\t_\t_\t_\t_\t_"])
    assert sentence.words == ["10_000"]
    assert with_senses(sentence, [(None, None)]) == "1\t10 000\t_\t_\t_\t_\t_\t_\t_\t_\n\n"


def test_old_senses_do_not_stay():
    (sentence,) = sentences(["1\t.\t_\t_\t_\t_\t_\t_\t_\tSense=old#9|SenseProb=0.11|SpaceAfter=No"])
    assert with_senses(sentence, [(None, None)]).endswith("\tSpaceAfter=No\n\n")
