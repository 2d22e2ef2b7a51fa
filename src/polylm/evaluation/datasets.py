"""The test sets: where they live, under which licence, where to put them; and fetching those whose licence allows it.

What is fetched is checked file by file against one sha256, which is taken over the sorted names and sums of the files
that are used. Nothing else of an archive is unpacked.
"""

import hashlib
import http.client
import re
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from polylm.archives import ArchiveError, members
from polylm.errors import UserError


@dataclass(frozen=True)
class Dataset:
    """One entry of `polylm data`."""

    name: str
    title: str
    home: str
    licence: str
    layout: str  # what the folder must hold
    url: str | None = None  # only where the licence allows to fetch it
    files: str = ""  # a pattern for the files of the archive that are used, from where they begin
    sha256: str = ""

    def to_dict(self) -> dict[str, str | bool]:
        """For JSON."""
        fetched = self.url is not None
        fields = {"name": self.name, "title": self.title, "home": self.home, "licence": self.licence}
        return {**fields, "layout": self.layout, "fetch": fetched}


DATASETS = {
    dataset.name: dataset
    for dataset in (
        Dataset(
            "semeval2010",
            "SemEval-2010 Task 14: word sense induction and disambiguation (8,915 instances, 100 lemmas)",
            "https://www.cs.york.ac.uk/semeval2010_WSI/",
            "none stated; the text is from OntoNotes",
            "test_data/ and evaluation/ (of test_data.tar.gz and evaluation.zip) side by side",
        ),
        Dataset(
            "semeval2013",
            "SemEval-2013 Task 13: word sense induction for graded and non-graded senses (4,664 instances, 50 lemmas)",
            "https://www.cs.york.ac.uk/semeval-2013/task13/",
            "none stated; the text is from the Open American National Corpus",
            "contexts/ and keys/ (of semeval-2013-task-13-test-data.zip)",
        ),
        Dataset(
            "semeval2013-trial",
            "SemEval-2013 Task 13, trial data (400 instances, 8 lemmas)",
            "https://www.cs.york.ac.uk/semeval-2013/task13/",
            "none stated; a redistribution of Erk, McCarthy and Gaylord's Graded Sense and Usage data",
            "data/ and evaluation/ (of the trial data)",
        ),
        Dataset(
            "wic",
            "WiC: is a word used in the same sense in two sentences? (5,428 / 638 / 1,400 pairs)",
            "https://pilehvar.github.io/wic/",
            "CC BY-NC 4.0",
            "train/, dev/ and test/",
            "https://pilehvar.github.io/wic/package/WiC_dataset.zip",
            r"(train/train|dev/dev|test/test)\.(data|gold)\.txt",
            "dc2e78028814a0b4ea1132dabe819b9fe0d57b5f6b782d7234b815a0835b15a4",
        ),
        Dataset(
            "wsd",
            "Raganato et al.'s evaluation framework for all-words word sense disambiguation (7,253 instances)",
            "http://lcl.uniroma1.it/wsdeval/",
            "none stated",
            "Evaluation_Datasets/, and SemCor and WordNet beside it (polylm data semcor, polylm data wordnet)",
        ),
        Dataset(
            "semcor",
            "SemCor 3.0: text with WordNet senses, which maps our senses to WordNet's",
            "http://www.cse.unt.edu/~rada/downloads.html#semcor",
            "may be used, copied and distributed for any purpose under Princeton's notice (see its README)",
            "brown1/, brown2/ and brownv/",
            "http://web.eecs.umich.edu/~mihalcea/downloads/semcor/semcor3.0.tar.gz",
            r"brown[12v]/tagfiles/br-\w+",
            "207ef113c0d85a4a86a5c45f889be152e0ec11952ec8cfdd8b4377332db4fe54",
        ),
        Dataset(
            "wordnet",
            "WordNet 3.0, the database files",
            "https://wordnet.princeton.edu/",
            "WordNet 3.0 licence (any use, with Princeton's notice)",
            "index.sense, data.noun and so on",
            "https://raw.githubusercontent.com/nltk/nltk_data/gh-pages/packages/corpora/wordnet.zip",
            r"(index\.(sense|noun|verb|adj|adv)|data\.(noun|verb|adj|adv)|lexnames|LICENSE)",
            "00ae36073a7baefc19205cb0252450b9ce22ea0cd578c481c5958b0bf117cedf",
        ),
    )
}


def how_to_get(name: str) -> str:
    """What to do where a data set is not there."""
    dataset = DATASETS[name]
    if dataset.url:
        return f"`polylm data {name} --out FOLDER` fetches it ({dataset.licence})."
    return f"Get it from {dataset.home} and put into one folder {dataset.layout}."


def fetch(dataset: Dataset, out: str | Path, *, report: Callable[[int, int], None] | None = None) -> Path:
    """Download a data set into a folder that is not there yet, check it, and only then give it its name."""
    out = Path(out).resolve()
    if dataset.url is None:
        raise UserError(f"{dataset.name} cannot be fetched: its licence is not stated. {how_to_get(dataset.name)}")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UserError(f"{out} is there already: name a new folder")
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}-") as work:
        archive, folder = Path(work) / "archive", Path(work) / "data"
        _download(dataset, archive, report)
        try:
            for name, data in members(archive, f"({dataset.files})"):
                path = folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
        except ArchiveError as error:
            raise UserError(f"what {dataset.url} gave is not a whole archive: {error}") from None
        actual = digest(folder, dataset.files)
        if actual != dataset.sha256:
            raise UserError(
                f"what {dataset.url} gave is not the {dataset.name} that is known (sha256 {actual[:12]} instead of "
                f"{dataset.sha256[:12]}); nothing was kept. See {dataset.home}"
            )
        if out.exists():
            out.rmdir()
        folder.rename(out)
    return out


def digest(folder: Path, files: str) -> str:
    """One sha256 of all files that match, by sorted name."""
    total = hashlib.sha256()
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    for name in names:
        if re.fullmatch(files, name):
            total.update(f"{name} {hashlib.sha256((folder / name).read_bytes()).hexdigest()}\n".encode())
    return total.hexdigest()


def _download(dataset: Dataset, path: Path, report: Callable[[int, int], None] | None) -> None:
    assert dataset.url is not None
    by_hand = f"Get it by hand from {dataset.home} and put into one folder {dataset.layout}"
    try:
        with urllib.request.urlopen(dataset.url, timeout=60) as response, path.open("wb") as file:
            length = response.headers.get("Content-Length") or ""
            total = int(length) if length.isdigit() else 0
            done = 0
            while block := response.read(1 << 16):
                file.write(block)
                done += len(block)
                if report and total:
                    report(done, total)
            if total and done != total:
                raise UserError(f"{dataset.url} broke off after {done:,} of {total:,} bytes: try again")
    except urllib.error.HTTPError as error:
        raise UserError(f"{dataset.url} answers {error.code} {error.reason}. {by_hand}") from None
    except (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError) as error:
        reason = getattr(error, "reason", error)
        raise UserError(f"{dataset.url} cannot be reached ({reason}). {by_hand}") from None
