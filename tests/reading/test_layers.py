"""A read-out checks itself, and knows which layers it really asks."""

import pytest

from polylm.errors import UserError
from polylm.reading.layers import BOTH, ReadOut
from tests.shared.networks import make


def test_what_is_no_read_out():
    for wrong, message in (({"layers": "all"}, "there is no read-out 'all'"), ({"weight": 2}, "a weight of 2 is not")):
        with pytest.raises(UserError, match=message):
            ReadOut(**wrong)
    with pytest.raises(UserError, match="between 0 and 1"):
        ReadOut(weight="x")


def test_names_stand_for_the_usual_weight():
    assert ReadOut.of("both") == ReadOut.of(BOTH) == ReadOut("both", 0.6)
    assert [ReadOut(weight=weight).needed for weight in (0, 0.5, 1)] == ["disambiguation", "both", "prediction"]


def test_a_network_without_the_layer():
    network = make(disambiguation=False)
    assert BOTH.of_network(network) == ReadOut("prediction")
    with pytest.raises(UserError, match="no disambiguation layer"):
        ReadOut("disambiguation").of_network(network)
    assert BOTH.of_network(make()) is BOTH
