"""All-words word sense disambiguation in Raganato's framework, without training a thing.

Our senses are mapped to WordNet's by counting on SemCor how often they meet: P(w | s) is the share of our sense s that
stands at words with WordNet sense w. A word gets the w with the largest sum of q_s P(w | s). Where the lemma is not in
SemCor, or not known to the model, or has one sense there, it gets its first sense, as the baseline does.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polylm.errors import UserError
from polylm.evaluation import semcor
from polylm.evaluation.datasets import how_to_get
from polylm.evaluation.instances import Instance, find_folder, parse_xml, read_lines

if TYPE_CHECKING:
    from polylm.evaluation.systems import PolyLMSystem

DATASETS = ("senseval2", "senseval3", "semeval2007", "semeval2013", "semeval2015")
_POS = {"NOUN": "n", "VERB": "v", "ADJ": "j", "ADV": "r"}


@dataclass(frozen=True)
class Labelled:
    """Instances with the WordNet senses that are right for each."""

    instances: list[Instance]
    senses: list[tuple[str, ...]]


@dataclass(frozen=True)
class WSDResult:
    """F1 (every word is answered, so precision and recall are one) by data set, of the model and of the baseline."""

    f1: dict[str, float]
    mfs: dict[str, float]
    sizes: dict[str, int]
    mapped: dict[str, int]  # words that were answered by the model and not by the back-off
    key: dict[str, str]  # instance -> answer

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"dataset": "wsd", "f1": self.f1, "mfs": self.mfs, "instances": self.sizes, "mapped": self.mapped}


def evaluate(
    datasets: Mapping[str, Labelled],
    tagged: Labelled,
    inventory: Mapping[tuple[str, str], Sequence[str]],
    system: "PolyLMSystem",
) -> WSDResult:
    """Map senses on SemCor, answer every data set."""
    frequency = _frequencies(tagged)
    first = {word: max(counts, key=lambda sense: counts[sense]) for word, counts in frequency.items() if counts}
    first |= {word: _most_frequent(senses, frequency[word]) for word, senses in inventory.items()}
    wanted = {(i.lemma, i.pos) for labelled in datasets.values() for i in labelled.instances}
    useful = {word for word in wanted if len(frequency[word]) > 1 and _several(word[0], system)}
    training = [
        (instance, senses[0])
        for instance, senses in zip(tagged.instances, tagged.senses, strict=True)
        if (instance.lemma, instance.pos) in useful
    ]
    asked = [i for labelled in datasets.values() for i in labelled.instances if (i.lemma, i.pos) in useful]
    windows = system.encode([*(instance for instance, _ in training), *asked])
    q = system.merged(system.read(windows).q, windows)
    counts: dict[tuple[str, str], dict[str, Any]] = defaultdict(lambda: defaultdict(float))
    for (instance, sense), row in zip(training, q, strict=False):
        counts[instance.lemma, instance.pos][sense] = counts[instance.lemma, instance.pos][sense] + row
    predicted = {
        id(instance): _predict(row, counts[instance.lemma, instance.pos])
        for instance, row in zip(asked, q[len(training) :], strict=True)
        if row.any()
    }
    f1, mfs, sizes, mapped, key = {}, {}, {}, {}, {}
    for name, labelled in datasets.items():
        right = right_first = by_model = 0
        for instance, senses in zip(labelled.instances, labelled.senses, strict=True):
            base = first.get((instance.lemma, instance.pos), "")
            answer = predicted.get(id(instance)) or base
            right, right_first = right + (answer in senses), right_first + (base in senses)
            by_model += id(instance) in predicted
            key[f"{name}.{instance.id}"] = answer
        n = len(labelled.instances)
        f1[name], mfs[name], sizes[name], mapped[name] = right / n, right_first / n, n, by_model
    total = sum(sizes.values())
    f1["ALL"], mfs["ALL"] = (sum(part[name] * sizes[name] for name in sizes) / total for part in (f1, mfs))
    return WSDResult(f1, mfs, {**sizes, "ALL": total}, {**mapped, "ALL": sum(mapped.values())}, key)


def _several(lemma: str, system: "PolyLMSystem") -> bool:
    word = system.lexicon.vocabulary.get(lemma)
    return word is not None and system.lexicon.index.n_senses[word] > 1


def _predict(q: Any, counts: Mapping[str, Any]) -> str:
    table = np.stack(list(counts.values()))  # (WordNet senses, ours)
    given = table / np.maximum(table.sum(axis=0), 1e-9)
    return list(counts)[int(np.argmax(given @ q))]


def _frequencies(tagged: Labelled) -> dict[tuple[str, str], dict[str, int]]:
    counts: dict[tuple[str, str], dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for instance, senses in zip(tagged.instances, tagged.senses, strict=True):
        counts[instance.lemma, instance.pos][senses[0]] += 1
    return counts


def _most_frequent(senses: Sequence[str], counts: Mapping[str, int]) -> str:
    """In SemCor; WordNet's own order decides where counts are equal, or there are none."""
    return max(senses, key=lambda sense: counts.get(sense, 0))


# Reading


def read_framework(folder: str | Path) -> dict[str, Labelled]:
    """The five data sets."""
    root = Path(folder)
    if root.name != "Evaluation_Datasets" and (root / "Evaluation_Datasets").is_dir():
        root = root / "Evaluation_Datasets"
    root = find_folder(root, "wsd", has="senseval2")
    return {name: read_labelled(root / name / name) for name in DATASETS if (root / name).is_dir()}


def read_labelled(stem: Path) -> Labelled:
    """A pair of files of the framework, STEM.data.xml and STEM.gold.key.txt."""
    data, gold = stem.parent / f"{stem.name}.data.xml", stem.parent / f"{stem.name}.gold.key.txt"
    for path in (data, gold):
        if not path.exists():
            raise UserError(f"{path} is missing")
    right = {}
    for number, line in enumerate(read_lines(gold), 1):
        if line.strip():
            name, *senses = line.split()
            if not senses:
                raise UserError(f"{gold}, line {number}: {name} has no sense")
            right[name] = tuple(senses)
    instances: list[Instance] = []
    for document in parse_xml(data).iter("text"):
        words: list[tuple[str, tuple[str, str, str] | None]] = []
        for element in document.iter():
            if element.tag == "wf":
                words.append((element.text or "", None))
            elif element.tag == "instance":
                missing = {"id", "lemma", "pos"} - set(element.attrib)
                if missing:
                    raise UserError(f"{data}: an instance lacks its {sorted(missing)[0]}")
                pos = _POS.get(element.attrib["pos"], element.attrib["pos"].lower())
                words.append((element.text or "", (element.attrib["id"], element.attrib["lemma"].lower(), pos)))
        instances += _document(words)
    unanswered = [instance.id for instance in instances if instance.id not in right]
    if unanswered:
        raise UserError(f"{gold} has no sense for {unanswered[0]}, which is in {data}")
    if not instances:
        raise UserError(f"{data} holds no instances")
    return Labelled(instances, [right[instance.id] for instance in instances])


def read_semcor(path: str | Path) -> Labelled:
    """SemCor 3.0 (a folder, or an archive of it), or the framework's semcor.data.xml."""
    path = Path(path)
    if path.name == "semcor.data.xml" or (path / "semcor.data.xml").exists():
        return read_labelled((path if path.is_dir() else path.parent) / "semcor")
    instances: list[Instance] = []
    senses: list[tuple[str, ...]] = []
    for name, sentences in semcor.documents(path):
        words: list[tuple[str, tuple[str, str, str] | None]] = []
        for form, sense in chain.from_iterable(sentences):
            if sense is not None and sense.in_wordnet:
                words.append((form, (f"{name}.{len(instances)}.{len(words)}", sense.lemma, sense.pos)))
                senses.append((f"{sense.lemma}%{sense.key}",))
            else:
                words.append((form, None))
        instances += _document(words)
    if not instances:
        raise UserError(f"{path} holds no word with a sense of WordNet")
    return Labelled(instances, senses)


def find_beside(folder: str | Path, name: str) -> Path:
    """A file or folder whose name begins so, in a folder or the two above it."""
    here = Path(folder).absolute()
    for place in (here, here.parent, here.parent.parent):
        found = sorted(path for path in place.iterdir() if path.name.lower().startswith(name))
        if found:
            return found[0]
    raise UserError(
        f"there is no {name} in {folder} or beside it: say where it is ({{{name}}}). {how_to_get(name)}", **{name: None}
    )


def _document(words: Sequence[tuple[str, tuple[str, str, str] | None]]) -> list[Instance]:
    """The instances of one text; words that were glued (vice_president) are several again."""
    text = " ".join(word.replace("_", " ") for word, _ in words)
    instances, start = [], 0
    for word, instance in words:
        if instance is not None:
            instances.append(Instance(*instance, text, start, start + len(word)))
        start += len(word) + 1
    return instances
