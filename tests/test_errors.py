"""One sentence, said in the words of whoever made the mistake."""

import pickle

from polylm.errors import UnknownKeyError, UserError


def test_parameters_are_named_as_the_caller_knows_them():
    error = UserError(
        "{a}.txt is not text: read it with {errors}, or go on with {resume}", errors="replace", resume=True
    )
    assert str(error) == "{a}.txt is not text: read it with errors='replace', or go on with resume=True"
    assert error.as_flags() == "{a}.txt is not text: read it with --errors replace, or go on with --resume"
    assert UserError("fewer ({max_words})", max_words=None).as_flags() == "fewer (--max-words)"
    assert str(UserError("fewer ({max_words})", max_words=None)) == "fewer (max_words)"


def test_it_comes_whole_out_of_another_process():
    for kind in (UserError, UnknownKeyError):
        again = pickle.loads(pickle.dumps(kind("fewer {workers}", workers=1)))
        assert (type(again), str(again), again.as_flags()) == (kind, "fewer workers=1", "fewer --workers 1")


def test_an_unknown_key_is_a_key_error_that_reads_well():
    error = UnknownKeyError("'zzz' is not a word")
    assert isinstance(error, KeyError)
    assert isinstance(error, UserError)
    assert str(error) == "'zzz' is not a word"
