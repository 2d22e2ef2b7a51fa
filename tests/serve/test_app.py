"""The JSON interface says what the library says; a mistake is one sentence."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("httpx")

from fastapi.testclient import TestClient

from polylm.cli import main
from polylm.errors import UserError
from polylm.serve.app import MAX_TEXT, check_port, create_app

TEXT = "He sat on the banks of the river."


@pytest.fixture(scope="module")
def client(model):
    return TestClient(create_app(model))


def test_tag(client, model):
    found = client.post("/api/tag", json={"text": TEXT, "granularity": 0.5}).json()
    assert found["text"] == TEXT
    for token, expected in zip(found["tokens"], model.tag(TEXT, granularity=0.5), strict=True):
        assert token.pop("n_senses") == {"bank": 2}.get(expected.lemma, 0 if expected.sense is None else 1)
        assert token.pop("label") == model.label(expected.sense, granularity=0.5)
        assert token == expected.to_dict()
    assert client.post("/api/tag", json={"text": ""}).json()["tokens"] == []
    fine = client.post("/api/tag", json={"text": TEXT, "granularity": 1}).json()
    assert fine["tokens"][4]["n_senses"] == 3


def test_senses(client, model):
    found = client.get("/api/senses", params={"word": "Banks", "granularity": 0.5}).json()
    assert found["word"] == "bank"
    assert [sense["members"] for sense in found["senses"]] == [["bank#2", "bank#3"], ["bank#1"]]
    points = {point["key"]: point for point in found["map"]}
    assert {key for key, point in points.items() if point["own"]} == {"bank#1", "bank#2"}
    assert all(abs(point["x"]) <= 1 and abs(point["y"]) <= 1 for point in points.values())
    one = client.get("/api/senses", params={"word": "river"}).json()
    assert len(one["senses"]) == 1


def test_plot(client):
    points = client.get("/api/plot", params={"word": ["bank", "cold"], "granularity": 0.5, "around": 2}).json()
    assert {p["key"] for p in points if p["own"]} == {"bank#1", "bank#2", "cold#1", "cold#2"}
    assert len(points) > 4
    assert client.get("/api/plot", params={"word": "zyzzyva"}).status_code == 422
    assert client.get("/api/plot").status_code == 422


def test_similar_and_substitutes(client, model):
    found = client.get("/api/similar", params={"key": "bank#2", "topn": 3}).json()
    assert [row["key"] for row in found] == [key for key, _ in model.most_similar("bank#2", 3)]
    merged = client.get("/api/similar", params={"key": "bank#2", "topn": 3, "granularity": 0.5}).json()
    assert [row["key"] for row in merged] == [key for key, _ in model.most_similar("bank#2", 3, granularity=0.5)]
    words = client.post("/api/substitutes", json={"text": "He sat on the [bank]."}).json()
    assert [(row["word"], row["share"]) for row in words] == model.substitutes("He sat on the [bank].")
    assert "bank" not in [row["word"] for row in words]


@pytest.mark.parametrize(
    ("path", "values", "message"),
    [
        ("senses", {"word": "rivr"}, "did you mean river"),
        ("similar", {"key": "bank#9"}, "bank has bank#1"),
        ("substitutes", {"text": "no focus"}, "mark one word"),
    ],
)
def test_mistakes_are_sentences(client, path, values, message):
    posted = path == "substitutes"
    answer = client.post(f"/api/{path}", json=values) if posted else client.get(f"/api/{path}", params=values)
    assert answer.status_code == 422
    assert message in answer.json()["detail"]


def test_limits(client):
    """What the description of the interface rules out is also said in a sentence."""
    for values, message in (
        ({"text": "a" * (MAX_TEXT + 1)}, "text: String should have at most"),
        ({"text": "a", "granularity": 2}, "granularity: Input should be less than or equal to 1"),
        ({}, "text: Field required"),
    ):
        answer = client.post("/api/tag", json=values)
        assert answer.status_code == 422
        assert message in answer.json()["detail"]
    assert client.get("/api/senses", params={"word": "bank", "granularity": -1}).status_code == 422
    assert client.post("/api/substitutes", json={"text": "[a]" + "a" * MAX_TEXT}).status_code == 422
    assert client.get("/api/plot", params={"word": ["bank"] * 21}).status_code == 422
    assert client.get("/api/nothing").status_code == 404


def test_a_key_is_looked_up_as_its_word(client):
    whole, one = (client.get("/api/senses", params={"word": word}).json() for word in ("bank", "bank#2"))
    assert one == whole


def test_it_listens_where_it_was_told_to(model, monkeypatch, capsys):
    heard = []
    monkeypatch.setattr("polylm.load", lambda *arguments, **named: model)
    monkeypatch.setattr("polylm.serve.app.listen", lambda model, host, port: heard.append((host, port)))
    with pytest.raises(SystemExit):
        main(["serve", "--port", "18765"])
    with pytest.raises(SystemExit):
        main(["serve", "--host", "0.0.0.0", "--port", "18765"])
    assert heard == [("127.0.0.1", 18765), ("0.0.0.0", 18765)]


def test_the_page_and_the_description(client):
    page = client.get("/")
    assert page.headers["content-type"].startswith("text/html")
    assert "http://" not in page.text.replace("http://www.w3.org", "")  # works offline
    assert "https://" not in page.text
    described = client.get("/openapi.json").json()["paths"]
    assert {"/api/tag", "/api/senses", "/api/similar", "/api/substitutes", "/api/info"} <= set(described)
    assert client.get("/api/info").json()["senses"] > 0


def test_a_port_in_use():
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(UserError, match="choose another port or host"):
            check_port("127.0.0.1", port)
    with pytest.raises(UserError, match="choose another host"):
        check_port("no such host", 8765)


def test_long_bodies_are_refused_before_they_are_read(client):
    long = b'{"text": "' + b"a" * 2_000_000 + b'"}'
    assert client.post("/api/tag", content=long).status_code == 413

    def parts():
        for _ in range(40):
            yield b"a" * 100_000

    answer = client.post("/api/tag", content=parts(), headers={"content-type": "application/json"})
    assert answer.status_code == 413
    assert "at most 1,000,000 bytes" in answer.json()["detail"]


def test_bodies_that_are_no_json(client):
    for content in (b"{bad", b"", b"[1]"):
        answer = client.post("/api/tag", content=content, headers={"content-type": "application/json"})
        assert (answer.status_code, answer.json()["detail"]) == (
            422,
            "the body must be a JSON object, sent as application/json",
        )
    assert client.head("/").status_code == 200


def test_the_model_is_asked_one_thing_at_a_time(model):
    running, most = [], []

    class Slow:
        def __getattr__(self, name):
            return getattr(model, name)

        def tag(self, *arguments, **named):
            running.append(1)
            most.append(len(running))
            time.sleep(0.1)
            running.pop()
            return model.tag(*arguments, **named)

    asking = TestClient(create_app(Slow()))
    with ThreadPoolExecutor(3) as pool:
        answers = list(pool.map(lambda _: asking.post("/api/tag", json={"text": TEXT}).status_code, range(3)))
    assert answers == [200] * 3
    assert most == [1] * 3
