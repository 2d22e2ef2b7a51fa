"""SemEval-2010 Task 14, word sense induction and disambiguation: 8,915 instances of 50 nouns and 50 verbs.

An instance is an element named by its id: sentences before, `<TargetSentence>`, sentences after. The focus is not
marked. As the authors of PolyLM did, it is taken to be the first word of the target sentence whose lemma is the target.
"""

from pathlib import Path
from xml.etree.ElementTree import Element

from polylm.errors import UserError
from polylm.evaluation.datasets import how_to_get
from polylm.evaluation.instances import Instance, WSIDataset, check_any, find_folder, parse_xml
from polylm.evaluation.keys import read_key
from polylm.text.lemmatizer import lemmas_of
from polylm.text.tokenizer import tokenize

GOLD = "evaluation/unsup_eval/keys/all.key"
_FORMS = {"lay": "lie", "lah": "lie", "figger": "figure", "figgered": "figure"}  # which no lemmatizer reads so


def read(folder: str | Path) -> WSIDataset:
    """The test set as the organisers distribute it: `test_data/` and `evaluation/` side by side."""
    root = find_folder(folder, "semeval2010", has="test_data")
    gold = find_folder(root, "semeval2010", has=GOLD) / GOLD
    paths = sorted((root / "test_data").glob("*/*.xml"))
    if not paths:
        raise UserError(f"{root / 'test_data'} holds no XML files. {how_to_get('semeval2010')}")
    instances = [_instance(element, path) for path in paths for element in parse_xml(path)]
    check_any(instances, root / "test_data", "semeval2010")
    return WSIDataset("semeval2010", "semeval2010", instances, read_key(gold))


def _instance(element: Element, path: Path) -> Instance:
    parts = element.tag.rsplit(".", 2)
    sentence = element.find("TargetSentence")
    if len(parts) != 3 or sentence is None or not (sentence.text or "").strip():
        raise UserError(f"{path}: <{element.tag}> is not an instance: a name such as access.n.1, and a TargetSentence")
    lemma, pos, _ = parts
    target = " ".join((sentence.text or "").split())
    before, after = (" ".join((part or "").split()) for part in (element.text, sentence.tail))
    span = find_focus(target, lemma, pos)
    if span is None:
        raise UserError(f"{path}: no word of the target sentence of {element.tag} has the lemma {lemma}")
    shift = len(before) + 1 if before else 0
    text = " ".join(part for part in (before, target, after) if part)
    return Instance(element.tag, lemma, pos, text, span[0] + shift, span[1] + shift)


def find_focus(sentence: str, lemma: str, pos: str) -> tuple[int, int] | None:
    """The first word with the lemma, of those between spaces; else of the tokens (half-straightened)."""
    spans, start = [], 0
    for word in sentence.split(" "):
        spans.append((word, start, start + len(word)))
        start += len(word) + 1
    tokens = [(token.norm, token.start, token.end) for token in tokenize(sentence)]
    for written, start, end in (*spans, *tokens):
        form = written.lower()
        if form == lemma or _FORMS.get(form) == lemma or lemma in lemmas_of(form, pos):
            return start, end
    return None
