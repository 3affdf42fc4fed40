"""Metrics of real processes: all that documentation, dashboard and alert rules name, and what they count."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import httpx
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from dragoman.service.gauges import Probe
from tests.support.searching import ndjson
from tests.support.serving import Server, server, wait_for
from tests.support.standing_in import STANDING_IN
from tests.support.worker_process import Worker

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
NAME = re.compile(r"\b(?:dragoman|process)_[a-z_]+\b")
SUFFIXES = {"counter": ["_total"], "histogram": ["_bucket", "_count", "_sum"], "gauge": [""]}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with server(tmp_path_factory.mktemp("metrics"), STANDING_IN, rerank_seconds=60, worker_queue=8) as running:
        for name in ("de", "fr"):
            running.client.post("/v1/collections", json={"name": name, "language": name}).raise_for_status()
            sent = {"content": ndjson([{"id": "1", "text": "Vulkan"}])}
            headers = {"content-type": "application/x-ndjson"}
            running.client.post(f"/v1/collections/{name}/documents", headers=headers, **sent).raise_for_status()
        yield running


def exposed(url: str) -> set[str]:
    """The names that can be asked for in PromQL, whether they have values yet or not."""
    text = httpx.get(url, trust_env=False, timeout=60).text
    families = [one for one in text_string_to_metric_families(text) if not one.name.endswith("_created")]
    return {one.name + suffix for one in families for suffix in SUFFIXES[one.type]}


def value(running: Server, name: str, **labels: str) -> float:
    """The value of one metric; 0 where it has none yet."""
    families = text_string_to_metric_families(running.client.get("/metrics").text)
    found = [one.value for family in families for one in family.samples if one.name == name and one.labels == labels]
    return found[0] if found else 0.0


def versions(running: Server) -> set[tuple[str, str]]:
    families = text_string_to_metric_families(running.client.get("/metrics").text)
    samples = [one for family in families for one in family.samples if one.name == "dragoman_table_version_info"]
    return {(one.labels["table"], one.labels["version"]) for one in samples if one.value == 1}


def search(running: Server, query: str, **more: Any) -> None:
    body = {"query": query, "query_language": "en", "collections": ["de"]} | more
    running.client.post("/v1/search", json=body).raise_for_status()


def upload(running: Server, content: bytes) -> None:
    asked = {"source": "en", "target": "de", "activate": True}
    running.client.put("/v1/tables/words", params=asked, content=content).raise_for_status()


def test_the_documentation_names_what_is_exposed(running: Server) -> None:
    rows = re.findall(r"^\| `((?:dragoman|process)_\w+)`", (ROOT / "docs/observability.md").read_text(), re.MULTILINE)
    names = exposed(f"{running.url}metrics")
    told = {name for name in names if name.startswith("dragoman_")} | {"process_resident_memory_bytes"}
    without = {re.sub("_(bucket|count|sum)$", "", name) for name in told}
    assert sorted(rows) == sorted(without)


def test_dashboard_and_alerts_ask_for_what_is_exposed(running: Server) -> None:
    names = exposed(f"{running.url}metrics")
    dashboard = json.loads((ROOT / "deploy/grafana-dashboard.json").read_text())
    expressions = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    expressions += [one["query"]["query"] for one in dashboard["templating"]["list"] if one["type"] == "query"]
    rules = yaml.safe_load((ROOT / "deploy/alerts.yml").read_text())
    expressions += [rule["expr"] for group in rules["groups"] for rule in group["rules"]]
    assert len(expressions) > 25
    for expression in expressions:
        asked = set(NAME.findall(expression))
        assert asked <= names, expression
        assert asked or expression.startswith("up{"), expression
    scraped = yaml.safe_load((ROOT / "deploy/prometheus.yml").read_text())
    assert scraped["rule_files"] == ["alerts.yml"]


def test_table_versions_follow_each_activation(running: Server) -> None:
    upload(running, b"volcano\tVulkan\n")
    assert versions(running) == {("words", "1")}
    upload(running, b"volcano\tVulkan\nash\tAsche\n")
    assert versions(running) == {("words", "2")}
    running.client.post("/v1/tables/words/versions/1/activate").raise_for_status()
    assert versions(running) == {("words", "1")}


def test_searches_are_counted_by_what_they_lacked_and_words_that_no_table_has(running: Server) -> None:
    upload(running, b"volcano\tVulkan\n")
    words, oov = ("dragoman_query_words_total", "dragoman_oov_words_total")
    before = [value(running, name, language="en") for name in (words, oov)]
    search(running, "volcano zeppelin")
    assert [value(running, name, language="en") for name in (words, oov)] == [before[0] + 2, before[1] + 1]
    missing = {"stage": "translate", "reason": "no_table"}
    before_degraded = value(running, "dragoman_degraded_total", **missing)
    search(running, "volcano", collections=["fr"])
    assert value(running, "dragoman_degraded_total", **missing) == before_degraded + 1


def test_reranks_and_batches_are_counted(running: Server) -> None:
    upload(running, b"volcano\tVulkan\n")
    search(running, "volcano", rerank={})
    assert value(running, "dragoman_reranks_total", outcome="reranked") == 1
    search(running, "zeppelin", rerank={})
    assert value(running, "dragoman_reranks_total", outcome="nothing") == 1
    assert value(running, "dragoman_batch_texts_sum", task="score") >= 1
    assert value(running, "dragoman_batch_cost_sum", task="score") >= 2
    assert value(running, "dragoman_batch_seconds_count", task="load") >= 1
    asked = {"query": "a", "query_language": "en", "document_language": "en", "documents": ["x", "nan"]}
    running.client.post("/v1/rerank", json=asked).raise_for_status()
    assert value(running, "dragoman_reranks_total", outcome="partial") == 1


def test_what_is_up_is_told(running: Server) -> None:
    assert value(running, "dragoman_database_up") == 1
    assert value(running, "dragoman_worker_up") == 1
    assert value(running, "dragoman_collections", state="ready") == 2
    assert value(running, "process_resident_memory_bytes") > 1e7


def test_a_worker_process_exposes_its_own_and_is_told_when_it_is_gone(running: Server, tmp_path: Path) -> None:
    worker = Worker()
    worker.start()
    names = exposed(f"{worker.url}/metrics")
    assert {"dragoman_batch_cost_sum", "dragoman_worker_waiting_items", "dragoman_requests_total"} <= names
    assert names <= exposed(f"{running.url}metrics")
    with server(tmp_path, STANDING_IN, worker_url=worker.url) as api:
        wait_for(lambda: value(api, "dragoman_worker_up") == 1)
        worker.end()
        assert value(api, "dragoman_worker_up") == 0
        assert value(api, "dragoman_database_up") == 1


def test_a_check_that_hangs_is_down_and_asked_once_at_a_time() -> None:
    gate, asked = Event(), []

    def check() -> None:
        asked.append(1)
        gate.wait(60)

    probe = Probe(check, seconds=0.05)
    assert [probe.up(), probe.up()] == [False, False]
    assert len(asked) == 1
    gate.set()
    wait_for(probe.up)
