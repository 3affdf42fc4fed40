"""All routers of the service, in the order in which the documentation shows them."""

from __future__ import annotations

from fastapi import APIRouter

from dragoman.service.api import collections, health, jobs, keys, page, rerank, search, tables
from dragoman.service.api.reading import qa, reason, tag, translate

ROUTERS: tuple[APIRouter, ...] = (
    collections.router,
    tables.router,
    search.router,
    rerank.router,
    qa.router,
    reason.router,
    tag.router,
    jobs.router,
    translate.router,
    keys.router,
    health.router,
    page.router,
)
