"""How long do people wait? Neighbours, a cold start, a pipe beside the library, the server and its page.

    python benchmarks/explore.py TEXT            # TEXT: a megabyte or so, a paragraph a line

The page is loaded in Chromium where playwright and a browser are installed.
"""

import argparse
import json
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import polylm

POLYLM = [sys.executable, "-m", "polylm"]
SENTENCE = "The rock band played on the right bank of the river, and the bank was right to lend them money."


def neighbours() -> None:
    model = polylm.load(device="cpu")
    keys = [f"{word}#1" for word in ("bank", "rock", "cell", "right", "mouse", "run", "green", "plant")]
    model.most_similar(keys[0])
    times = []
    for key in keys * 3:
        began = time.perf_counter()
        model.most_similar(key)
        times.append(1e3 * (time.perf_counter() - began))
    print(f"neighbours of a sense, ms\t{min(times):.1f} to {max(times):.1f}\tof {len(model.vectors):,}")


def cold_start() -> None:
    for _ in range(3):
        began = time.perf_counter()
        with subprocess.Popen([*POLYLM, "senses", "bank"], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            shown = time.perf_counter() - began
        print(f"senses bank, s to its table and to its end\t{shown:.2f}\t{time.perf_counter() - began:.2f}")


def pipe(text: Path) -> None:
    model = polylm.load(device="cpu")
    lines = text.read_text(encoding="utf-8").split("\n")
    began = time.perf_counter()
    n = sum(map(len, model.tag_many(lines, read_out="disambiguation")))
    library = time.perf_counter() - began
    began = time.perf_counter()
    with text.open("rb") as file:
        subprocess.run(
            [*POLYLM, "tag", "-", "--read-out", "disambiguation"], stdin=file, stdout=subprocess.DEVNULL, check=True
        )
    piped = time.perf_counter() - began
    print(f"{n:,} words, s in the library and in a pipe (loading included)\t{library:.1f}\t{piped:.1f}")


def page() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    address = f"http://127.0.0.1:{port}/"
    began = time.perf_counter()
    with subprocess.Popen([*POLYLM, "serve", "--port", port], stdout=subprocess.PIPE) as server:
        try:
            assert server.stdout is not None
            server.stdout.readline()
            print(f"serve, s until it says so\t{time.perf_counter() - began:.2f}")
            _ask(address)
        finally:
            server.terminate()


def _ask(address: str) -> None:
    body = json.dumps({"text": SENTENCE}).encode()
    request = urllib.request.Request(f"{address}api/tag", body, {"content-type": "application/json"})
    for _ in range(50):  # it says so a moment before it listens
        try:
            urllib.request.urlopen(f"{address}api/info").close()
            break
        except OSError:
            time.sleep(0.05)
    times = []
    for _ in range(12):
        began = time.perf_counter()
        urllib.request.urlopen(request).read()
        times.append(1e3 * (time.perf_counter() - began))
    print(
        f"a sentence over HTTP, ms: the first, and the others\t{times[0]:.0f}\t{min(times[1:]):.0f} to {max(times):.0f}"
    )
    browser = shutil.which("chromium")
    if browser is None:
        return
    from playwright.sync_api import sync_playwright

    with (
        sync_playwright() as driver,
        driver.chromium.launch(executable_path=browser, args=["--no-sandbox"]) as chromium,
    ):
        for _ in range(3):
            tab = chromium.new_page()
            tab.goto(address)
            tab.wait_for_selector("textarea")
            paint = tab.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
            print(f"first paint of the page, ms\t{paint:.0f}")
            tab.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("text", type=Path)
    options = parser.parse_args()
    neighbours()
    cold_start()
    pipe(options.text)
    page()


if __name__ == "__main__":
    main()
