"""Training in tests is done by one thread."""

import pytest
import torch


@pytest.fixture(scope="package", autouse=True)
def one_thread():
    """Two would wait for one another on a busy machine, and such small networks gain nothing by them."""
    n = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(n)
