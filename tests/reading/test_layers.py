"""A read-out checks itself, and knows which layers it really asks."""

import pytest

from polylm.errors import UserError
from polylm.reading.layers import AUTO, BOTH, ReadOut
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
    assert BOTH.of_network(make()) == BOTH


def test_what_a_network_was_taught():
    taught, untaught = make(reads_unmasked=True), make()
    assert AUTO.of_network(taught).layers == "reading"
    assert AUTO.of_network(untaught).layers == "both"
    assert AUTO.of_network(make(reads_unmasked=True, disambiguation=False)).layers == "reading"
    with pytest.raises(UserError, match="not taught to read words that are not masked"):
        ReadOut("reading").of_network(untaught)


@pytest.mark.parametrize("disambiguation", [True, False])
@pytest.mark.parametrize("reads_unmasked", [True, False])
def test_names_of_what_a_network_has(disambiguation, reads_unmasked):
    network = make(disambiguation=disambiguation, reads_unmasked=reads_unmasked)
    names = ReadOut.names_of(network)
    assert [ReadOut(name).of_network(network).layers for name in names] == names
    assert AUTO.of_network(network).layers == names[0]
