"""serve: the page and its JSON interface."""

from typing import Annotated

import typer

from polylm.commands.options import DeviceName, Granularity, ModelDir
from polylm.errors import UserError


def serve(
    model: ModelDir = None,
    host: Annotated[str, typer.Option(help="The address to listen on; by default this machine alone.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="The port to listen on.")] = 8765,
    granularity: Granularity = None,
    device: DeviceName = "auto",
) -> None:
    """Open a page to type text into and look at its senses; /openapi.json describes the JSON interface."""
    import polylm

    try:
        from polylm.serve.app import check_port, listen, warm_up
    except ImportError:
        raise UserError("serving needs fastapi and uvicorn: pip install 'polylm[serve]'") from None
    address = check_port(host, port)
    loaded = polylm.load(model, device=device, granularity=granularity)
    warm_up(loaded)
    print(f"{address} — Ctrl-C to stop", flush=True)
    listen(loaded, host, port)
