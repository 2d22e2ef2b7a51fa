"""What a pipe is told of long work."""

import logging
import sys

from polylm.commands.console import Bar, shown_log
from polylm.training.trainer import Trainer
from tests.shared.corpora import TINY, settings


def test_the_end_of_a_stage_is_said_once(capsys):
    """Also where the whole was guessed too small, and grows with what is done."""
    with Bar() as bar:
        report = bar.counter("reading")
        for done in range(1, 20):
            report(done, max(done, 10))
        bar.counter("counting")(1, 1)
    assert capsys.readouterr().err.splitlines() == ["reading: 10%", "reading: 100%", "counting: 100%"]


def test_the_log_is_shown_where_it_is_asked_for(capsys):
    """Lines that only say where work stands come now and then in a pipe; outside the block nothing is shown."""
    logger = logging.getLogger("polylm.training")
    logger.info("before")
    with shown_log():
        for step in range(3):
            logger.info(f"step {step}", extra={"progress": True})
        logger.info("split")
    logger.info("after")
    assert capsys.readouterr().err.splitlines() == ["step 0", "split"]


def test_a_terminal_writes_over_progress(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with shown_log():
        for step in range(2):
            logging.getLogger("polylm").info(f"step {step}", extra={"progress": True})
        logging.getLogger("polylm").info("split")
    assert capsys.readouterr().err == "\r\x1b[Kstep 0\r\x1b[Kstep 1\r\x1b[Ksplit\n"


def test_the_library_prints_nothing(corpus, tmp_path, capsys):
    trainer = Trainer(corpus, tmp_path / "run", TINY, settings(steps=4), device="cpu")
    trainer.train()
    assert capsys.readouterr() == ("", "")
