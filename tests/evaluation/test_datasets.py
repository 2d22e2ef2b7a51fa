"""Fetching: from a server on this machine, checked, all or nothing."""

import io
import tarfile
import threading
import zipfile
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from polylm.errors import UserError
from polylm.evaluation.datasets import DATASETS, digest, fetch, how_to_get

FILES = {"train/train.data.txt": b"a", "train/train.gold.txt": b"T", "dev/dev.data.txt": b"b", "other.txt": b"x"}


def zipped(prefix):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in FILES.items():
            archive.writestr(prefix + name, data)
        archive.writestr("../train/train.data.txt.exe", b"evil")
    return buffer.getvalue()


def tarred():
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, data in FILES.items():
            info = tarfile.TarInfo(f"top/{name}")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


@pytest.fixture
def server():
    """A server of whatever is in `pages`."""
    pages = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            page = pages.get(self.path)
            self.send_response(200 if page is not None else 404)
            if page is not None:
                self.send_header("Content-Length", str(len(page) + (100 if "short" in self.path else 0)))
                self.end_headers()
                self.wfile.write(page)
            else:
                self.end_headers()

        def log_message(self, *arguments):
            pass

    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=running.serve_forever, daemon=True).start()
    yield pages, f"http://127.0.0.1:{running.server_port}"
    running.shutdown()
    running.server_close()


@pytest.fixture
def dataset(tmp_path, server):
    """WiC as it would be if the archive on the server were WiC."""
    folder = tmp_path / "as it should be"
    for name, data in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    wic = DATASETS["wic"]
    return replace(wic, url=f"{server[1]}/a.zip", sha256=digest(folder, wic.files))


@pytest.mark.parametrize("archive", [zipped(""), zipped("WiC_dataset/"), tarred()])
def test_fetch(tmp_path, server, dataset, archive):
    server[0]["/a.zip"] = archive
    seen = []
    folder = fetch(dataset, tmp_path / "deep" / "wic", report=lambda done, total: seen.append((done, total)))
    found = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert found == {name: data for name, data in FILES.items() if name != "other.txt"}
    assert seen[-1] == (len(archive), len(archive))
    assert [path.name for path in folder.parent.iterdir()] == ["wic"]


def test_nothing_is_kept_that_is_not_right(tmp_path, server, dataset):
    pages, home = server
    out = tmp_path / "out" / "wic"
    pages["/a.zip"] = zipped("")
    cases = [
        (replace(dataset, sha256="0" * 64), "is not the wic that is known"),
        (replace(dataset, url=f"{home}/none.zip"), "answers 404"),
        (replace(dataset, url="http://127.0.0.1:9/a.zip"), "cannot be reached"),
        (replace(dataset, url=f"{home}/page"), "is not a whole archive"),
        (replace(dataset, url=f"{home}/cut"), "is not a whole archive"),
        (replace(dataset, url=f"{home}/short.zip"), "broke off after"),
    ]
    pages["/page"] = b"<html>moved</html>"
    pages["/cut"] = tarred()[:-60]
    pages["/short.zip"] = zipped("")
    for wrong, complaint in cases:
        with pytest.raises(UserError, match=complaint):
            fetch(wrong, out)
        assert list(out.parent.iterdir()) == []


def test_a_folder_that_is_there_is_left_alone(tmp_path, dataset):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").write_text("mine")
    with pytest.raises(UserError, match="is there already"):
        fetch(dataset, tmp_path / "mine")
    assert (tmp_path / "mine" / "file").read_text() == "mine"


def test_licences():
    with pytest.raises(UserError, match="its licence is not stated"):
        fetch(DATASETS["semeval2010"], "x")
    for dataset in DATASETS.values():
        assert dataset.licence
        assert dataset.home.startswith("http")
        assert (dataset.url is None) == dataset.licence.startswith("none stated")
        assert (len(dataset.sha256) == 64) == (dataset.url is not None)
        assert how_to_get(dataset.name)


def test_sums_are_those_of_the_data(data, tmp_path):
    assert digest(data / "eval/wic", DATASETS["wic"].files) == DATASETS["wic"].sha256
    for name, archive in (("semcor", "eval/semcor3.0.tar.xz"), ("wordnet", "wordnet-3.0.tar.xz")):
        with tarfile.open(data / archive) as opened:
            opened.extractall(tmp_path / name, filter="data")
        folder = next((tmp_path / name).iterdir())
        assert digest(folder, DATASETS[name].files) == DATASETS[name].sha256
