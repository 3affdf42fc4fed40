"""All routers of the service, in the order in which the documentation shows them."""

from __future__ import annotations

from fastapi import APIRouter

from dragoman.service.api import collections, health, jobs, keys, page, qa, rerank, search, tables, translate

ROUTERS: tuple[APIRouter, ...] = (
    collections.router,
    tables.router,
    search.router,
    rerank.router,
    qa.router,
    jobs.router,
    translate.router,
    keys.router,
    health.router,
    page.router,
)
