"""The page of `polylm serve` in a real browser."""

import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request

import pytest

from tests.shared.models import make_model

pytestmark = pytest.mark.slow
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
TEXT = "He sat on the bank of the river, and the money was in the bank."


def start(folder):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    command = [sys.executable, "-m", "polylm", "serve", "--model", str(folder), "--port", str(port), "--device", "cpu"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    address = f"http://127.0.0.1:{port}/"
    for _ in range(150):
        try:
            urllib.request.urlopen(f"{address}api/info", timeout=1).read()
            return process, address
        except OSError:
            if process.poll() is not None:
                raise AssertionError(process.stderr.read()) from None
            time.sleep(0.1)
    process.kill()
    raise AssertionError("the server did not start")


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    pytest.importorskip("fastapi")
    folder = tmp_path_factory.mktemp("model")
    make_model(granularity=0.5, max_length=64).save_pretrained(folder)
    process, address = start(folder)
    yield address
    process.terminate()
    process.wait(10)


@pytest.fixture(scope="module")
def browser():
    api = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("there is no Chromium on this machine")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def page(browser):
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.complaints = []
    page.on("console", lambda message: page.complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    yield page
    assert page.complaints == []
    page.close()


def write(page, text):
    """Type, and wait for the answer: until then the words of the text before are shown."""
    page.fill("#text", text)
    page.wait_for_function("text => document.querySelector('#text-out').innerText === text", arg=text)


def test_type_and_click(page, address):
    page.goto(address)
    write(page, TEXT)
    bank = page.locator("#text-out button.word:not(.plain)", has_text="bank").first
    bank.click()
    assert bank.get_attribute("aria-pressed") == "true"
    assert re.match(r"bank, sense bank#\d, \d", bank.get_attribute("aria-label"))
    page.wait_for_selector("#word-out ol.senses li")
    assert page.inner_text("#word-title") == "bank"
    assert page.locator("#word-out ol.senses > li").count() == 2  # two of three are one at the model's granularity
    page.wait_for_selector("text=Here one could say")
    assert page.locator("#word-out svg circle").count() >= 2
    assert page.inner_text("#text-out") == TEXT


def test_the_dial_splits_and_merges(page, address):
    page.goto(f"{address}#word=bank")
    page.wait_for_function("document.querySelectorAll('ol.senses > li').length === 2")
    page.fill("#dial", "1")
    page.wait_for_function("document.querySelectorAll('ol.senses > li').length === 3")
    assert page.inner_text("#dial-says") == "granularity 1.00"
    page.fill("#dial", "0.5")
    page.wait_for_function("document.querySelectorAll('ol.senses > li').length === 2")


def test_deep_links(page, address):
    page.goto(address)
    write(page, TEXT)
    page.locator("button.word:not(.plain)", has_text="bank").first.click()
    page.wait_for_selector("text=Here one could say")
    link = page.url
    page.goto("about:blank")
    page.goto(link)
    page.wait_for_selector("text=Here one could say")
    assert page.input_value("#text") == TEXT
    assert page.locator("button.word[aria-pressed=true]").inner_text() == "bank"
    assert page.inner_text("#word-title") == "bank"


def test_keyboard_alone(page, address):
    page.goto(f"{address}#text=the bank")
    page.wait_for_selector("button.word")
    page.locator("button.word:not(.plain)").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#word-out ol.senses li")
    page.fill("#word", "cold")
    page.keyboard.press("Enter")
    page.wait_for_function("document.getElementById('word-title').textContent === 'cold'")
    page.wait_for_function("document.activeElement.id === 'word-title'")
    assert page.locator("button.word[aria-pressed=true]").count() == 0


def test_an_unknown_word(page, address):
    page.goto(address)
    page.wait_for_selector("button.word")
    page.fill("#word", "rivr")
    page.click("#go")
    page.wait_for_selector("#said:not([hidden])")
    assert "did you mean river" in page.inner_text("#said")
    page.complaints = [text for text in page.complaints if "422" not in text]  # the browser's own note of the status


def test_empty_and_long_text(page, address):
    page.goto(address)
    page.fill("#text", "")
    page.wait_for_selector("text=Nothing to read yet")
    long = (TEXT + " ") * 80
    assert len(long) > 5000
    page.fill("#text", long)
    page.wait_for_function("document.querySelectorAll('button.word').length > 900")
    assert not page.is_visible("#said")


def test_text_is_text(page, address):
    page.goto(address)
    page.fill("#text", "<img src=x onerror=alert(1)> the bank 😀 of [the] bank")
    page.wait_for_function("document.querySelector('#text-out').innerText.includes('😀')")  # not the first sentence
    assert page.locator("#text-out img").count() == 0
    page.locator("button.word:not(.plain)").last.click()
    page.wait_for_selector("text=Here one could say")
    assert "😀" in page.inner_text("#text-out")


def test_the_server_is_gone(page, tmp_path):
    make_model(granularity=0.5).save_pretrained(tmp_path)
    process, address = start(tmp_path)
    page.goto(address)
    page.wait_for_selector("button.word")
    process.kill()
    process.wait()
    page.fill("#text", "the bank of the river")
    page.wait_for_selector("#said:not([hidden])")
    assert "does not answer" in page.inner_text("#said")
    page.complaints = [text for text in page.complaints if "ERR_CONNECTION" not in text]


@pytest.mark.parametrize("width", [390, 1440])
def test_nothing_is_cut_off(browser, address, width):
    page = browser.new_page(viewport={"width": width, "height": 844})
    page.goto(f"{address}#text={TEXT}&at=4")
    page.wait_for_selector("text=Here one could say")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()


def test_fast(page, address):
    page.goto(address)
    page.wait_for_selector("button.word")
    paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    assert paint < 1000
    took = page.evaluate(
        "async () => { const t = performance.now(); await ask('tag', null, {text: 'He sat on the bank of the river.'});"
        " return performance.now() - t; }"
    )
    assert took < 150


def test_the_map(page, tmp_path):
    from polylm.explore.plot import sense_map

    pytest.importorskip("sklearn")
    sense_map(make_model().lexicon, tmp_path / "map.html", n=20)
    page.goto(f"file://{tmp_path}/map.html")
    assert "20 senses" in page.inner_text("#about")
    page.fill("#find", "bank")
    page.wait_for_selector("#about strong")
    assert page.inner_text("#about strong").startswith("bank#")
    page.locator("#about button").first.click()
    assert not page.inner_text("#about strong").startswith("bank#")
    page.fill("#find", "zyzzyva")
    page.wait_for_selector("text=Not on this map")
    page.mouse.wheel(0, -300)
    page.keyboard.press("Escape")
