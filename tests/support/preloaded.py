"""What nearly every service reads or makes at its start, once in the process that it is forked from."""

import gc
import os
import tempfile

from fastapi import FastAPI
from fastapi.routing import iter_route_contexts

from dragoman.engine.query import language
from dragoman.engine.settings import Settings
from dragoman.indexes.analysis.inflection import dictionary_form
from dragoman.service import server
from dragoman.service.app import Application, create_app

_DOCUMENT = create_app(Settings.from_defaults(data_dir=tempfile.gettempdir())).openapi()
"""What an app of these settings says of itself. Making it takes twice as long as building its routes does."""


def _with_routes(app: FastAPI) -> FastAPI:
    if "AS_SHIPPED" in os.environ:
        app.openapi()
        return app
    for _ in iter_route_contexts(app.routes):
        pass
    if isinstance(app, Application):
        app.openapi_schema = _DOCUMENT
    return app


server._with_routes = _with_routes
dictionary_form("de")
language.prepare(["de", "en", "sw"])
gc.collect()
gc.freeze()  # or each process that is forked looks through all that was imported, at its start and now and then
