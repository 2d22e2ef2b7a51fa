"""What is seen of a run."""

import json
import sys
from types import ModuleType
from typing import ClassVar

from polylm.training.log import LOG, RunLog


class Writer:
    """As much of TensorBoard's writer as is used; it remembers."""

    made: ClassVar[list["Writer"]] = []

    def __init__(self, folder):
        self.folder, self.scalars, self.closed = folder, [], False
        Writer.made.append(self)

    def add_scalar(self, name, value, step):
        self.scalars.append((name, value, step))

    def close(self):
        self.closed = True


def test_tensorboard_gets_what_the_log_gets(tmp_path, monkeypatch):
    module = ModuleType("torch.utils.tensorboard")
    module.SummaryWriter = Writer
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", module)
    monkeypatch.setattr(Writer, "made", [])
    log = RunLog(tmp_path)
    log.add({"step": 3, "lm": 2.5, "held_out": float("nan"), "watch bank": ["bank#1 100%: river"]})
    log.close()
    (writer,) = Writer.made
    assert writer.folder == str(tmp_path / "tensorboard")
    assert writer.scalars == [("lm", 2.5, 3)]
    assert writer.closed
    assert json.loads((tmp_path / LOG).read_text())["held_out"] is None
    RunLog(tmp_path, board=False).add({"step": 4, "lm": 2.4})  # another process than the first
    assert len(Writer.made) == 1


def test_without_tensorboard_there_is_the_log(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    log = RunLog(tmp_path)
    log.add({"step": 1, "lm": 1.0})
    log.close()
    assert not (tmp_path / "tensorboard").exists()
    assert len((tmp_path / LOG).read_text().splitlines()) == 1


def test_a_log_goes_on_from_a_step(tmp_path):
    log = RunLog(tmp_path, board=False)
    for step in (1, 2, 3):
        log.add({"step": step})
    log.add({"step": 2, "split": True})
    with (tmp_path / LOG).open("a") as file:
        file.write('{"step": 1, "cut')
    log.go_on_from(2, split=True)
    assert [json.loads(line)["step"] for line in (tmp_path / LOG).read_text().splitlines()] == [1, 2, 2]
    log.go_on_from(2, split=False)  # the state is that before the split
    assert [json.loads(line) for line in (tmp_path / LOG).read_text().splitlines()] == [{"step": 1}, {"step": 2}]
