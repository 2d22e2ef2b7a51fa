"""The web application: JSON endpoints over one loaded model, and the page that uses them.

Made with FastAPI: `/openapi.json` describes every endpoint. Text goes in the body of a POST, since it may be long. A
mistake is status 422 with one sentence in `detail`, a body that is too long 413.
"""

import errno
import socket
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from threading import Lock
from typing import Annotated, Any, ParamSpec, TypeVar

import numpy as np
import uvicorn
from fastapi import FastAPI, HTTPException, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse
from pydantic import AliasChoices, BaseModel, ConfigDict, Field
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from polylm import __version__
from polylm.errors import UserError
from polylm.explore import results
from polylm.explore.model import Model
from polylm.explore.results import Senses, TaggedText
from polylm.reading.layers import Layers
from polylm.senses.lexicon import Lexicon

STATIC = Path(__file__).parent / "static"
MAX_TEXT = 20_000  # characters
MAX_BODY = 1_000_000  # bytes of a request
Granularity = Annotated[
    float | None, Query(ge=0, le=1, description="1 keeps every sense apart; by default the model's own.")
]
Word = Annotated[str, Query(max_length=200)]
P = ParamSpec("P")
T = TypeVar("T")


class TagRequest(BaseModel):
    """A text to tag."""

    model_config = ConfigDict(extra="forbid")
    text: str = Field(max_length=MAX_TEXT)
    granularity: float | None = Field(None, ge=0, le=1)
    read_out: Layers = Field("auto", validation_alias=AliasChoices("read_out", "source"))


class SubstitutesRequest(BaseModel):
    """A text with one word in [brackets]."""

    model_config = ConfigDict(extra="forbid")
    text: str = Field(max_length=MAX_TEXT + 2)
    topn: int = Field(10, ge=1, le=50)


class Limited:
    """An application that is given no more of a request than `most` bytes, whether it says its length or not."""

    def __init__(self, app: ASGIApp, most: int) -> None:
        self.app, self.most = app, most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse what is too long."""
        length = dict(scope.get("headers", [])).get(b"content-length", b"")
        if length.isdigit() and int(length) > self.most:
            await JSONResponse({"detail": self._too_long}, 413)(scope, receive, send)
            return
        n_read = 0

        async def counted() -> Message:
            nonlocal n_read
            message = await receive()
            n_read += len(message.get("body", b""))
            if n_read > self.most:
                raise HTTPException(413, self._too_long)
            return message

        await self.app(scope, counted, send)

    @property
    def _too_long(self) -> str:
        return f"a request has at most {self.most:,} bytes, and a text {MAX_TEXT:,} characters"


def create_app(model: Model) -> FastAPI:
    """The application over a model. One request at a time reads text: the processor is shared anyway."""
    app = FastAPI(
        title="polylm",
        version=__version__,
        description="Word senses learned by language modelling.",
        docs_url=None,  # these pages need the network; /openapi.json does not
        redoc_url=None,
    )
    lock, lexicon = Lock(), model.lexicon

    def careful(function: Callable[P, T]) -> Callable[P, T]:
        @wraps(function)
        def wrapped(*arguments: P.args, **named: P.kwargs) -> T:
            try:
                with lock:
                    return function(*arguments, **named)
            except UserError as error:
                raise HTTPException(422, str(error)) from None

        return wrapped

    app.add_middleware(Limited, most=MAX_BODY)

    @app.exception_handler(RequestValidationError)
    def in_a_sentence(_: Request, error: RequestValidationError) -> JSONResponse:
        said = [": ".join(filter(None, (".".join(map(str, one["loc"][1:])), one["msg"]))) for one in error.errors()]
        if any(one["type"] == "json_invalid" or tuple(one["loc"]) == ("body",) for one in error.errors()):
            said = ["the body must be a JSON object, sent as application/json"]
        return JSONResponse({"detail": "; ".join(said)}, 422)

    # What needs no model waits for none: these two take no thread.
    @app.api_route("/", methods=["GET", "HEAD"], include_in_schema=False)
    async def page() -> FileResponse:
        return FileResponse(STATIC / "index.html", headers={"Cache-Control": "no-cache"})

    @app.get("/api/info")
    async def info() -> dict[str, Any]:
        """What the model is."""
        inventory = model.network.inventory
        return {
            "version": __version__,
            "words": inventory.n_words,
            "senses": inventory.n_rows,
            "granularity": model.granularity,
            "merges": lexicon.merge_tree is not None,
        }

    @app.post("/api/tag")
    @careful
    def tag(request: TagRequest) -> dict[str, Any]:
        """The words of a text as `polylm tag` gives them; `n_senses` is how many a word has at this granularity."""
        tokens = model.tag(request.text, granularity=request.granularity, read_out=request.read_out)
        return TaggedText.of(request.text, tokens, lexicon, request.granularity).to_dict()

    @app.get("/api/senses")
    @careful
    def senses(
        word: Word, granularity: Granularity = None, topn: Annotated[int, Query(ge=1, le=50)] = 8
    ) -> dict[str, Any]:
        """The senses of a word: shares, neighbours, and a place for each on a little map."""
        resolved = lexicon.lookup(word)
        found = lexicon.senses([resolved.word], granularity=granularity, topn=topn, as_is=True)[0]
        return {
            "word": resolved.word,
            "senses": Senses(found).to_dict(),
            "map": little_map(lexicon, [(sense.key, [key for key, _ in sense.neighbours[:4]]) for sense in found]),
        }

    @app.get("/api/plot")
    @careful
    def plot(
        word: Annotated[list[str], Query(min_length=1, max_length=20, description="Words, each with its own word=.")],
        granularity: Granularity = None,
        around: Annotated[int, Query(ge=0, le=20, description="Neighbours of each sense.")] = 4,
    ) -> list[dict[str, Any]]:
        """The senses of some words and their neighbours on a plane, from -1 to 1; `own` are the words' senses."""
        found = [sense for own in lexicon.senses(word, granularity=granularity, topn=max(around, 1)) for sense in own]
        return little_map(lexicon, [(sense.key, [key for key, _ in sense.neighbours[:around]]) for sense in found])

    @app.get("/api/similar")
    @careful
    def similar(
        key: Word, topn: Annotated[int, Query(ge=1, le=100)] = 10, granularity: Granularity = None
    ) -> list[dict[str, Any]]:
        """The nearest senses of other words."""
        return results.neighbours(model.most_similar(key, topn, granularity=granularity))

    @app.post("/api/substitutes")
    @careful
    def substitutes(request: SubstitutesRequest) -> list[dict[str, Any]]:
        """Words that could stand for the one in [brackets]."""
        return results.substitutes(model.substitutes(request.text, request.topn))

    return app


def little_map(lexicon: Lexicon, senses: list[tuple[str, list[str]]]) -> list[dict[str, Any]]:
    """The senses and some neighbours of each on the plane of their two main directions, from -1 to 1."""
    shown = [key for key, _ in senses]
    keys = list(dict.fromkeys([*shown, *(key for _, near in senses for key in near)]))
    vectors = np.stack([lexicon.vectors[key] for key in keys])
    centred = vectors - vectors.mean(axis=0)
    left, scales, _ = np.linalg.svd(centred, full_matrices=False)
    plane = np.zeros((len(keys), 2))
    n = min(2, len(scales))
    plane[:, :n] = left[:, :n] * scales[:n]
    plane /= max(float(np.abs(plane).max()), 1e-9)
    return [
        {"key": key, "x": round(float(x), 4), "y": round(float(y), 4), "own": key in shown}
        for key, (x, y) in zip(keys, plane, strict=True)
    ]


def check_port(host: str, port: int) -> str:
    """The address of the page; or a sentence now, instead of a traceback later."""
    try:
        family, *_ = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError):
        raise UserError(f"{host!r} is not an address of this machine: choose another {{host}}", host=None) from None
    try:
        with socket.create_server((host, port), family=family):
            pass
    except (OSError, OverflowError) as error:
        why = "it is in use" if getattr(error, "errno", None) == errno.EADDRINUSE else getattr(error, "strerror", error)
        raise UserError(
            f"cannot listen on {host}:{port}: {why}; choose another {{port}} or {{host}}", port=None, host=None
        ) from None
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def warm_up(model: Model) -> None:
    """What is read when it is first used is read now, so that nobody waits for it: half a second."""
    model.lexicon.labels([token.sense for token in model.tag("They left early.")])
    model.most_similar(model.vectors.keys[0], 1)


def listen(model: Model, host: str, port: int) -> None:
    """Answer until stopped."""
    uvicorn.run(create_app(model), host=host, port=port, log_level="warning")
