"""The page that tells how a worker is: `GET /healthz`, green or red by its status, all about it as JSON."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Final

import faust
from faust.types.web import Request, Response, View

from streams.runtime.health import Health

PATH: Final = "/healthz"


def tell(app: faust.App, health: Callable[[], Health]) -> None:
    """Serve the page from the app's own web server: 200 while the worker gets on, 503 while it does not."""

    @app.page(PATH, name="healthz")
    async def healthz(view: View, _: Request) -> Response:
        told = health()
        status = HTTPStatus.OK if told.well else HTTPStatus.SERVICE_UNAVAILABLE
        return view.json(told.report(), status=status)
