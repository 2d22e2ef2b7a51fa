"""The lexicon: entries, links, JSON lines and Turtle that others read."""

import json

import numpy as np
import pytest

from polylm.errors import UserError
from polylm.explore.examples import Example
from polylm.explore.lexicon import Entry, LexicalSense, entries, write
from polylm.explore.links import Link, Linker
from polylm.senses.wordlists import WordLists
from polylm.wordnet import WordNet
from tests.shared.models import make_model


def test_entries_are_the_senses(model):
    found = {entry.word: entry for entry in entries(model, topn=2, granularity=0.5)}
    assert list(found) == model.words()
    bank = found["bank"]
    assert [sense.key for sense in bank.senses] == [sense.key for sense in model.senses("bank", granularity=0.5)]
    assert bank.senses[0].neighbours == model.senses("bank", granularity=0.5, topn=2)[0].neighbours
    assert sum(sense.share for sense in bank.senses) == pytest.approx(1, abs=1e-3)
    assert all(sense.wordnet is None and not sense.examples for sense in bank.senses)
    assert [entry.word for entry in entries(model, words=["banks", "bank", "cold"])] == ["bank", "cold"]
    with pytest.raises(UserError, match="not a word that the model knows"):
        list(entries(model, words=["zyzzyva"]))


def test_links(model, wordnet_folder):
    wordnet = WordNet(wordnet_folder)
    linker = Linker(model, wordnet)
    groups = [sense.members for sense in model.senses("bank", granularity=1.0)]
    links = linker.links("bank", groups)
    assert {link.synset for link in links} <= {"09213565-n", "08420278-n"}
    assert all(0.5 <= link.confidence <= 1 for link in links)
    assert links[0].gloss in ("sloping land (beside water)", "a place for money")
    assert linker.links("water", [["water#1"]]) == [None]  # not in this WordNet


def test_a_sense_goes_to_the_synset_that_it_is_near_to(model, wordnet_folder):
    """bank#1 is made to lie beside river and water, of the first gloss; bank#2 beside money, of the second."""
    linker = Linker(model, WordNet(wordnet_folder))
    vectors = model.vectors
    saved = vectors.vectors.copy()
    try:
        for key, like in (("bank#1", ("river#1", "water#1")), ("bank#2", ("money#1", "money#1"))):
            mean = sum(saved[vectors.index(other)] for other in like)
            vectors.vectors[vectors.index(key)] = mean / np.linalg.norm(mean)
        about = [linker.words_about(synset, "bank") for synset in ("09213565-n", "08420278-n")]
        close, apart = linker._closeness("bank", about)
    finally:
        vectors.vectors[:] = saved
    assert close[0].argmax() == 0
    assert close[1].argmax() == 1
    assert apart[0, 0] > 0 > apart[1, 0]


def test_substitutes_speak_for_a_synset(wordnet_folder):
    """One that is a word about it; and a sense whose substitutes WordNet does not know is less sure."""
    model = make_model()
    vocabulary = model.vocabulary
    table = np.zeros((model.network.inventory.n_rows, 2), dtype=np.uint16)
    first = int(model.network.inventory.first[vocabulary["bank"]])
    table[first : first + 3, 0] = [vocabulary[word] for word in ("money", "river", "cold")]
    model.lexicon.wordlists = WordLists(substitutes=table)
    linker = Linker(model, WordNet(wordnet_folder))
    about = [{"river": 1.0, "water": 0.5}, {"money": 0.5}]
    named, speech, known = linker._by_substitutes([["bank#1"], ["bank#2"], ["bank#3"]], about, ["n", "n"])
    np.testing.assert_allclose(named, [[0, 0.25], [0.5, 0], [0, 0]])
    assert known.tolist() == [0, 0, 1]  # this small WordNet has bank and cold
    np.testing.assert_allclose(speech[:2], 0)
    assert linker._parts_of_speech("cold") == {"j": 1.0}
    assert linker._by_substitutes([["bank#3"]], about, ["j", "n"])[1].tolist() == [[1.0, 0.0]]
    links = linker.links("bank", [["bank#1"], ["bank#2"], ["bank#3"]])
    assert links[:2] == [None, None]
    assert links[2] is not None
    assert links[2].confidence > 0


ENTRY = Entry(
    'a"b\\',
    5,
    [
        LexicalSense(
            'a"b\\#1',
            0.75,
            [("größe#2", 0.5)],
            ['a"b\\#1'],
            ['x"y'],
            Link("09213565-n", "bank%1:17:01::", "land", 0.61),
            [Example('He said "no"\tand left.', 0, 2, 0.9)],
        ),
        LexicalSense('a"b\\#2', 0.25, [], ['a"b\\#2']),
    ],
)


def test_json_lines(tmp_path):
    assert write(tmp_path / "l.jsonl", [ENTRY, Entry("x", 1, [])]) == 2
    first, second = map(json.loads, (tmp_path / "l.jsonl").read_text(encoding="utf-8").splitlines())
    assert first["senses"][0]["neighbours"] == [["größe#2", 0.5]]
    assert first["senses"][0]["substitutes"] == ['x"y']
    assert first["senses"][0]["wordnet"]["confidence"] == 0.61
    assert first["senses"][0]["examples"][0]["text"].startswith("He said")
    assert second == {"word": "x", "count": 1, "senses": []}
    with pytest.raises(UserError, match=r"a \.jsonl or a \.ttl file"):
        write(tmp_path / "l.csv", [ENTRY])


def test_turtle_parses(tmp_path, model):
    rdflib = pytest.importorskip("rdflib")
    write(tmp_path / "l.ttl", [ENTRY, *entries(model)])
    graph = rdflib.Graph().parse(tmp_path / "l.ttl")
    ontolex = rdflib.Namespace("http://www.w3.org/ns/lemon/ontolex#")
    skos = rdflib.Namespace("http://www.w3.org/2004/02/skos/core#")
    written = {str(name) for name in graph.objects(None, ontolex.writtenRep)}
    assert written == {'a"b\\', *model.words()}
    n_senses = sum(len(model.senses(word)) for word in model.words())
    assert len(set(graph.subjects(rdflib.RDF.type, ontolex.LexicalSense))) == n_senses + 2
    (sense,) = graph.subjects(skos.notation, rdflib.Literal('a"b\\#1'))
    assert str(graph.value(sense, skos.example)) == 'He said "no"\tand left.'
    assert str(graph.value(sense, ontolex.isLexicalizedSenseOf)).endswith("wn30/09213565-n")
    assert str(graph.value(sense, rdflib.URIRef("urn:polylm:terms:substitute"))) == 'x"y'
    assert float(graph.value(sense, rdflib.URIRef("urn:polylm:terms:share"))) == 0.75


def test_an_entry_has_labels_that_are_those_of_its_senses(model):
    (bank, river) = entries(model, words=["bank", "river"], granularity=1.0)
    assert [sense.label for sense in bank.senses] == model.lexicon.labels(
        [sense.key for sense in bank.senses], granularity=1.0
    )
    assert all(len(sense.label.split()) == 3 for sense in bank.senses)
    assert river.senses[0].label == ""
