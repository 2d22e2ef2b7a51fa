"""Where a network runs."""

import pytest
import torch

from polylm.device import choose_device
from polylm.errors import UserError


def test_devices():
    assert choose_device("cpu").type == "cpu"
    with pytest.raises(UserError, match="is not a device"):
        choose_device("tpu")
    if not torch.cuda.is_available():
        assert choose_device("auto").type == "cpu"
        with pytest.raises(UserError, match="no CUDA device"):
            choose_device("cuda")
