"""SemEval-2013 Task 13, word sense induction for graded and non-graded senses: 4,664 instances of 50 lemmas.

The organisers give the contexts twice: one file in the Senseval-2 format, the focus in `<head>`, with 8 instances that
are not in the gold key (they are answered all the same, and count); and a file a lemma with offsets, without those 8.
The trial data have a third layout, and graded gold for 400 instances.
"""

from pathlib import Path
from xml.etree.ElementTree import Element

from polylm.errors import UserError
from polylm.evaluation.datasets import how_to_get
from polylm.evaluation.instances import Instance, WSIDataset, check_any, find_folder, joined, offset_instance, parse_xml
from polylm.evaluation.keys import read_key

GOLD = "keys/gold/all.key"
SENSEVAL2 = "contexts/senseval2-format/semeval-2013-task-13-test-data.senseval2.xml"
XML = "contexts/xml-format"
TRIAL_GOLD = "evaluation/keys/gold-standard/trial.gold-standard.key"
TRIAL = "data/semeval-2013-task-10-trial-data.xml"  # the organisers' own name


def read(folder: str | Path) -> WSIDataset:
    """The test set as the organisers distribute it, from the Senseval-2 file where it is there."""
    root = find_folder(folder, "semeval2013", has=GOLD)
    if (root / SENSEVAL2).exists():
        instances = read_senseval2(root / SENSEVAL2)
    elif (root / XML).is_dir():
        instances = read_offsets(root / XML)
    else:
        raise UserError(f"{root} holds neither {SENSEVAL2} nor {XML}. {how_to_get('semeval2013')}")
    check_any(instances, root / "contexts", "semeval2013")
    return WSIDataset("semeval2013", "semeval2013", instances, read_key(root / GOLD))


def read_trial(folder: str | Path) -> WSIDataset:
    """The trial data, against the mean ratings."""
    for file in (TRIAL_GOLD, TRIAL):
        root = find_folder(folder, "semeval2013-trial", has=file)
    instances = [offset_instance(element, root / TRIAL) for element in parse_xml(root / TRIAL)]
    check_any(instances, root / TRIAL, "semeval2013-trial")
    return WSIDataset("semeval2013-trial", "semeval2013", instances, read_key(root / TRIAL_GOLD))


def read_senseval2(path: Path) -> list[Instance]:
    """All instances of the one file, those outside the gold key too."""
    return [
        _headed(element, lexelt.attrib.get("item", ""), path)
        for lexelt in parse_xml(path).iter("lexelt")
        for element in lexelt.iter("instance")
    ]


def read_offsets(folder: Path) -> list[Instance]:
    """A file a lemma; those of the gold key alone."""
    return [
        offset_instance(element, path)
        for path in sorted(folder.glob("*.xml"))
        for element in parse_xml(path).iter("instance")
    ]


def _headed(element: Element, item: str, path: Path) -> Instance:
    lemma, dot, pos = item.rpartition(".")
    name, context = element.attrib.get("id", ""), element.find("context")
    head = context.find("head") if context is not None else None
    if not dot or not name or context is None or head is None or not (head.text or "").strip():
        raise UserError(f"{path}: instance {name!r} of {item!r} has no context with a <head>")
    text, start, end = joined(context.text or "", (head.text or "").strip(), head.tail or "")
    return Instance(name, lemma, pos, text, start, end)
