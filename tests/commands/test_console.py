"""What a pipe is told of long work."""

from polylm.commands.console import Bar


def test_the_end_of_a_stage_is_said_once(capsys):
    """Also where the whole was guessed too small, and grows with what is done."""
    with Bar() as bar:
        report = bar.counter("reading")
        for done in range(1, 20):
            report(done, max(done, 10))
        bar.counter("counting")(1, 1)
    assert capsys.readouterr().err.splitlines() == ["reading: 10%", "reading: 100%", "counting: 100%"]
