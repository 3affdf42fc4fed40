"""All routers of the service, in the order in which the documentation shows them."""

from __future__ import annotations

from fastapi import APIRouter

from dragoman.service.access.endpoints import router as access
from dragoman.service.aliases.endpoints import router as aliases
from dragoman.service.api import health, page
from dragoman.service.backup.endpoints import router as backup
from dragoman.service.collections.endpoints import router as collections
from dragoman.service.embeddings.endpoints import router as embeddings
from dragoman.service.integrations.dify import router as dify
from dragoman.service.integrations.mcp import router as mcp
from dragoman.service.integrations.openwebui import router as openwebui
from dragoman.service.integrations.pyserini import router as pyserini
from dragoman.service.integrations.routir import router as routir
from dragoman.service.jobs.endpoints import router as jobs
from dragoman.service.qa.endpoints import router as qa
from dragoman.service.read.endpoints import router as read
from dragoman.service.reasoning.endpoints import router as reasoning
from dragoman.service.reports.endpoints import router as reports
from dragoman.service.rerank.endpoints import router as rerank
from dragoman.service.search.endpoints import router as search
from dragoman.service.suggest.endpoints import router as suggest
from dragoman.service.tables.endpoints import lookup_router
from dragoman.service.tables.endpoints import router as tables
from dragoman.service.tagging.endpoints import router as tagging
from dragoman.service.translation.endpoints import router as translation

ROUTERS: tuple[APIRouter, ...] = (
    collections,
    aliases,
    tables,
    lookup_router,
    search,
    suggest,
    rerank,
    embeddings,
    qa,
    read,
    reasoning,
    tagging,
    jobs,
    translation,
    dify,
    openwebui,
    routir,
    pyserini,
    mcp,
    reports,
    access,
    backup,
    health.router,
    page.router,
)
