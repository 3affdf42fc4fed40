"""Keys limited to collections and tables, over the application in this process: nothing else is there for them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import delete

from dragoman.engine.core.key_limits import limited_to
from dragoman.engine.settings import Settings
from dragoman.service.access.keys import NewKey
from dragoman.service.jobs.submission import NewJob
from dragoman.service.runtime import Runtime
from dragoman.service.server import make_app
from dragoman.store.models import ApiKey
from tests.support.job_client import NDJSON, finished, read

pytestmark = pytest.mark.slow

SECRET = "geheim"
"""In all names and texts of what the limited keys may not see."""
HIDDEN = {"collection": f"{SECRET}-docs", "alias": f"{SECRET}-alias", "table": f"{SECRET}-table"}
ABSENT = {"collection": "absent-docs", "alias": "absent-alias", "table": "absent-table"}
BODIES: dict[tuple[str, str], Any] = {
    ("post", "/v1/collections"): {"name": "{collection}", "language": "de"},
    ("patch", "/v1/collections/{name}"): {"description": "x"},
    ("post", "/v1/collections/{name}/documents/delete"): {"filter": {"id": "1"}},
    ("patch", "/v1/collections/{name}/documents/{id}"): {"title": "x"},
    ("put", "/v1/aliases/{alias}"): {"collection": "{collection}"},
    ("patch", "/v1/tables/{name}"): {"add": [{"source": "a", "target": "b"}]},
    ("post", "/v1/search"): {"query": "Vulkan", "query_language": "de", "collections": ["{collection}"]},
    ("post", "/v1/rerank"): {"query": "ash", "documents": ["Asche"], "tables": ["{table}"], "query_language": "en"},
    ("post", "/v1/qa"): {"question": "Wo?", "collections": ["{collection}"]},
    ("post", "/v1/read"): {"collection": "{collection}", "id": "1", "reader_language": "en"},
    ("post", "/retrieval"): {"knowledge_id": "{collection}", "query": "Vulkan"},
    ("post", "/integrations/openwebui/search"): {"query": "Vulkan", "count": 3},
    ("post", "/integrations/routir/search"): {"service": "{collection}", "query": "Vulkan"},
}
"""``/v1/reason`` has no body here, as its model takes seconds to load; it searches as ``/v1/qa`` does."""
QUERIES = {
    "/v1/lookup": "?term=ash&source=en&target=de",
    "/v1/suggest": "?q=vul&language=de&collections={collection}",
    "/v1/tables/{name}": "?source=en&target=de",
    "/integrations/openwebui/search": "?collection={collection}",
    "/integrations/pyserini/v1/{index}/search": "?query=Vulkan",
}
TOOLS: list[tuple[str, dict[str, Any]]] = [
    ("search", {"query": "Vulkan", "collections": ["{collection}"]}),
    ("search", {"query": "Vulkan", "collections": ["{alias}"]}),
    ("fetch", {"id": "{collection}/1"}),
    ("fetch", {"id": "{alias}/1"}),
    ("answer", {"question": "Wo?", "collections": ["{collection}"]}),
    ("add_term", {"table": "{table}", "source": "sea", "target": "Meer"}),
]


@dataclass(frozen=True)
class Service:
    client: Any
    """Of the administrator."""
    admin: str

    def ask(self, key: str, method: str, path: str, **more: Any) -> Any:
        headers = {"Authorization": f"Bearer {key}", **more.pop("headers", {})}
        return self.client.request(method, path, headers=headers, **more)

    def make_key(self, scopes: list[str], **limits: Any) -> str:
        made = self.ask(self.admin, "POST", "/v1/keys", json={"scopes": scopes, **limits})
        assert made.status_code == 201, made.text
        assert {name: made.json()[name] for name in limits} == limits
        key: str = made.json()["key"]
        return key

    def create(self, name: str, text: str) -> None:
        self.ask(self.admin, "POST", "/v1/collections", json={"name": name, "language": "de"}).raise_for_status()
        document = {"id": "1", "title": f"Vulkan {name}", "text": text, "metadata": {name: text}}
        self.ask(
            self.admin, "POST", f"/v1/collections/{name}/documents", content=json.dumps(document), headers=NDJSON
        ).raise_for_status()

    def names(self, key: str) -> list[str]:
        return [entry["name"] for entry in self.ask(key, "GET", "/v1/collections").json()["collections"]]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("limits")
    settings = Settings.load(data_dir=folder, embed="on_demand", rerank="never", record_searches="plain")
    with TestClient(make_app(settings), base_url="http://localhost") as client:
        admin = client.post("/v1/keys", json={"scopes": ["admin", "search", "jobs"]}).json()["key"]
        client.headers["Authorization"] = f"Bearer {admin}"
        made = Service(client, admin)
        made.create("mine", "Der Vulkan spuckt Asche.")
        made.create(HIDDEN["collection"], f"Der Vulkan ist {SECRET}.")
        for alias, collection in ((HIDDEN["alias"], HIDDEN["collection"]), ("my-alias", "mine")):
            body = {"collection": collection}
            made.ask(admin, "PUT", f"/v1/aliases/{alias}", json=body).raise_for_status()
        for table, word in ((HIDDEN["table"], f"{SECRET}asche"), ("my-table", "Asche")):
            address = f"/v1/tables/{table}?source=en&target=de&activate=true"
            made.ask(admin, "PUT", address, content=f"ash\t{word}\t0.5\t0.5\n").raise_for_status()
        yield made


@pytest.fixture(scope="module")
def limited(service: Service) -> str:
    return service.make_key(["search", "jobs", "admin"], collections=["mine"], tables=["my-table"])


def filled(template: Any, names: dict[str, str]) -> Any:
    text = json.dumps(template)
    for kind, name in names.items():
        text = text.replace("{" + kind + "}", name)
    return json.loads(text)


def address_of(path: str, names: dict[str, str]) -> str:
    kind = "table" if path.startswith("/v1/tables") else "collection"
    places = {
        "name": names[kind],
        "index": names[kind],
        "alias": names["alias"],
        "version": "1",
        "other": "1",
        "id": "1",
        "term": "ash",
    }
    filled_path: str = filled(path + QUERIES.get(path, ""), names)
    for place, value in places.items():
        filled_path = filled_path.replace("{" + place + "}", value)
    return filled_path


def test_what_a_limited_key_may_not_see_is_not_there_at_any_address(service: Service, limited: str) -> None:
    """Every operation of the OpenAPI document answers of a hidden name what it answers of a name that there is not."""
    line = {"custom_id": "1", "query": "ash", "query_language": "en", "collections": [HIDDEN["collection"]]}
    job = service.ask(service.admin, "POST", "/v1/jobs?type=search", content=json.dumps(line), headers=NDJSON).json()[
        "id"
    ]
    operations = [
        (method, path)
        for path, methods in service.client.get("/openapi.json").json()["paths"].items()
        for method in methods
        if path not in ("/healthz", "/readyz")
    ]
    assert {("post", "/v1/search"), ("get", "/v1/collections/{name}/export")} <= set(operations)
    for method, path in operations:
        answers = []
        for names in (HIDDEN, ABSENT):
            body = BODIES.get((method, path))
            more: dict[str, Any] = {} if body is None else {"json": filled(body, names)}
            if path.startswith("/v1/jobs/"):
                address = path.replace("{id}", job if names is HIDDEN else "job_absent")
            else:
                address = address_of(path, names)
            if path.endswith("/documents") and method == "post":
                more = {"content": b'{"id": "1", "text": "x"}', "headers": NDJSON}
            response = service.ask(limited, method, address, **more)
            text = response.text
            for name in (*names.values(), job, "job_absent"):
                text = text.replace(name, "NAME")
            assert SECRET not in text.lower(), (method, path, text)
            answers.append((response.status_code, text if response.status_code >= 400 else ""))
        hidden, absent = ((status, _message(text)) for status, text in answers)
        assert hidden == absent, (method, path)
        if "{" in path and not path.startswith("/v1/keys"):
            assert hidden[0] in (403, 404, 422, 400, 405), (method, path, hidden)
    assert service.ask(service.admin, "GET", f"/v1/collections/{HIDDEN['collection']}").json()["documents"] == 1
    assert finished(service.client, job)["counts"]["completed"] == 1


def _message(text: str) -> str:
    return str(json.loads(text)["message"]) if text.startswith("{") else text


def test_other_wires_find_what_a_limited_key_may_see_and_no_more(service: Service, limited: str) -> None:
    def call(tool: str, arguments: dict[str, Any]) -> Any:
        asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        headers = {"accept": "application/json, text/event-stream"}
        response = service.ask(limited, "POST", "/mcp", json=asked, headers=headers)
        assert response.status_code == 200, response.text
        result = response.json()["result"]
        (item,) = result["content"]
        text: str = item["text"]
        for name in (*HIDDEN.values(), *ABSENT.values()):
            text = text.replace(name, "NAME")
        assert SECRET not in text.lower()
        return result["isError"], text

    for tool, arguments in TOOLS:
        (fails, hidden), (_, absent) = (call(tool, filled(arguments, names)) for names in (HIDDEN, ABSENT))
        assert fails and hidden == absent, (tool, hidden, absent)
    for query in ("Vulkan", SECRET):
        _, text = call("search", {"query": query})
        assert [result["id"] for result in json.loads(text)["results"]] == ["mine/1"] * (query != SECRET)
        body = {"query": query, "count": 5}
        answers = service.ask(limited, "POST", "/integrations/openwebui/search", json=body).json()
        assert SECRET not in json.dumps(answers).lower() and bool(answers) == (query != SECRET)
    _, text = call("look_up_term", {"term": "ash", "source": "en", "target": "de"})
    assert [table["name"] for table in json.loads(text)["tables"]] == ["my-table"]
    listed = service.ask(limited, "GET", "/integrations/routir/avail").json()["search"]
    assert listed == ["mine", "my-alias"]


def test_a_limited_key_finds_what_it_may(service: Service, limited: str) -> None:
    ask = service.ask
    assert service.names(limited) == ["mine"]
    assert [entry["alias"] for entry in ask(limited, "GET", "/v1/aliases").json()["aliases"]] == ["my-alias"]
    assert [table["name"] for table in ask(limited, "GET", "/v1/tables").json()["tables"]] == ["my-table"]
    query = {"query": "ash", "query_language": "en", "method": "psq", "facets": ["title"]}
    for collections in (None, ["mine"], ["my-alias"]):
        answer = ask(limited, "POST", "/v1/search", json=query | {"collections": collections}).json()
        assert [hit["collection"] for hit in answer["hits"]] == ["mine"]
        assert [table["name"] for table in answer["translation"]["tables"]] == ["my-table"]
        assert SECRET not in json.dumps(answer).lower()
    assert ask(limited, "POST", "/v1/search", json=query | {"tables": [f"{HIDDEN['table']}@1"]}).status_code == 404
    whole = ask(service.admin, "POST", "/v1/search", json=query).json()
    assert {table["name"] for table in whole["translation"]["tables"]} == {"my-table", HIDDEN["table"]}
    for typed in ("vul", SECRET[:4], "as"):
        completed = ask(limited, "GET", f"/v1/suggest?q={typed}").json()["completions"]
        assert SECRET not in json.dumps(completed).lower()
        assert completed or typed == SECRET[:4]
    looked_up = ask(limited, "GET", "/v1/lookup?term=ash&source=en&target=de").json()["tables"]
    assert [table["name"] for table in looked_up] == ["my-table"]
    for path in ("/v1/keys", "/v1/audit", "/v1/backup", "/v1/reports/searches", "/metrics"):
        assert ask(limited, "GET", path).status_code == 403, path


def test_an_administrator_with_limits_makes_what_was_given_to_it_and_no_more(service: Service) -> None:
    team = service.make_key(["admin"], collections=["team"], tables=["team-table"])
    for name, status in (("team", 201), ("other", 403), ("mine", 403)):
        assert service.ask(team, "POST", "/v1/collections", json={"name": name, "language": "de"}).status_code == status
        address = f"/v1/tables/{name}-table?source=en&target=de"
        assert service.ask(team, "PUT", address, content="a\tb\n").status_code == status
    for change in ({"name": "mine"}, {"name": "other"}):
        assert service.ask(team, "PATCH", "/v1/collections/team", json=change).status_code == 403
    assert service.ask(team, "PUT", "/v1/aliases/other", json={"collection": "team"}).status_code == 403
    assert service.names(team) == ["team"]
    assert service.ask(team, "DELETE", "/v1/collections/mine").status_code == 404
    assert service.ask(team, "DELETE", "/v1/collections/team").status_code == 204


def test_names_are_bound_to_collections(service: Service) -> None:
    """A renamed collection stays with the key, one that is renamed to its name is not opened, a new one is."""
    ask, admin = service.ask, service.admin

    def rename(name: str, new: str) -> None:
        ask(admin, "PATCH", f"/v1/collections/{name}", json={"name": new}).raise_for_status()

    key = service.make_key(["search"], collections=["later", "bound", "moving"])
    service.create("private", "privat")
    rename("private", "later")
    assert service.names(key) == []
    rename("later", "private")
    service.create("later", "später")
    assert service.names(key) == ["later"]
    service.create("bound", "gebunden")
    rename("bound", "renamed")
    rename("private", "bound")
    assert service.names(key) == ["later", "renamed"]
    listed = ask(admin, "GET", "/v1/keys").json()["keys"]
    assert next(entry for entry in listed if entry["id"] == key.split("_")[1])["collections"] == [
        "later",
        "renamed",
        "moving",
    ]
    ask(admin, "PUT", "/v1/aliases/moving", json={"collection": "bound"}).raise_for_status()
    assert service.names(key) == ["bound", "later", "renamed"]
    ask(admin, "PUT", "/v1/aliases/moving", json={"collection": "mine"}).raise_for_status()
    assert service.names(key) == ["later", "mine", "renamed"]
    ask(admin, "DELETE", "/v1/aliases/moving").raise_for_status()
    ask(admin, "DELETE", "/v1/collections/later").raise_for_status()
    assert service.names(key) == ["renamed"]
    service.create("later", "wieder")
    assert service.names(key) == ["later", "renamed"]
    for name in ("later", "renamed", "bound"):
        ask(admin, "DELETE", f"/v1/collections/{name}").raise_for_status()
    nothing = service.make_key(["search"], collections=[], tables=[])
    assert service.names(nothing) == []
    refused = ask(admin, "POST", "/v1/keys", json={"scopes": ["search"], "collections": ["No Name"]})
    assert refused.status_code == 422
    assert "collections[0]" in refused.json()["message"]


def test_jobs_keep_the_limits_of_a_key_that_was_revoked(service: Service) -> None:
    """Its lines find what the key might see; only an administrator without limits sees it beside the key."""
    key = service.make_key(["jobs"], collections=["mine"], tables=["my-table"])
    other = service.make_key(["jobs", "admin"], collections=["mine"])
    query = {"query": "ash", "query_language": "en", "method": "psq"}
    lines = [
        {"custom_id": "all", **query},
        {"custom_id": "hidden", **query, "collections": [HIDDEN["collection"]]},
    ]
    made = service.ask(
        key, "POST", "/v1/jobs?type=search", content="\n".join(map(json.dumps, lines)), headers=NDJSON
    ).json()
    assert [table["name"] for table in made["table_versions"]] == ["my-table"]
    service.ask(service.admin, "DELETE", f"/v1/keys/{key.split('_')[1]}").raise_for_status()
    assert service.ask(other, "GET", f"/v1/jobs/{made['id']}").status_code == 404
    assert service.ask(other, "GET", "/v1/jobs").json()["jobs"] == []
    assert finished(service.client, made["id"])["counts"] == {"total": 2, "completed": 1, "failed": 1}
    (result,) = read(service.client, made["id"], "results")
    (error,) = read(service.client, made["id"], "errors")
    assert [hit["collection"] for hit in result["response"]["hits"]] == ["mine"]
    assert SECRET not in json.dumps(result).lower()
    assert error["custom_id"] == "hidden"
    assert error["error"]["status"] == 404


def test_a_key_that_replaces_another_sees_its_jobs(service: Service) -> None:
    """Whichever of the two made them, and however often keys are replaced; no other key with the same scopes does."""
    keys = service.client.app.state.runtime.keys
    first, other = service.make_key(["jobs"]), service.make_key(["jobs"])
    line = json.dumps({"custom_id": "1", "query": "ash", "documents": ["Asche"]})
    names = {"content": line, "headers": {**NDJSON, "Idempotency-Key": "same"}}

    def submit(key: str, type: str = "rerank") -> str:
        made = service.ask(key, "POST", f"/v1/jobs?type={type}", **{**names, "headers": dict(names["headers"])})
        id: str = made.json()["id"]
        return id

    id = submit(first)
    _, second = keys.rotate(first.split("_")[1], timedelta(hours=1))
    _, third = keys.rotate(second.split("_")[1], timedelta(hours=1))
    assert submit(third) == id != submit(other)
    names["headers"] = NDJSON
    made = [id, submit(first), submit(third)]
    for key in (first, second, third):
        assert {job["id"] for job in service.ask(key, "GET", "/v1/jobs").json()["jobs"]} == set(made)
        assert service.ask(key, "GET", f"/v1/jobs/{made[-1]}").status_code == 200
    assert service.ask(other, "GET", f"/v1/jobs/{id}").status_code == 404
    assert service.ask(other, "GET", f"/v1/jobs?after={id}").status_code == 404
    finished(service.client, id)
    assert service.ask(third, "DELETE", f"/v1/jobs/{id}").status_code == 204


def test_jobs_keep_the_limits_of_their_keys_after_a_restart(tmp_path: Path) -> None:
    """One key is revoked meanwhile, the other is deleted: no line of its job is answered."""
    settings = Settings.load(data_dir=tmp_path, embed="on_demand", rerank="never")
    runtime = Runtime(settings)
    runtime.start(serving=False)
    for name in ("mine", HIDDEN["collection"]):
        runtime.collections.create(name, "de")
        runtime.collections.import_documents(name, iter([b'{"id": "1", "text": "Der Vulkan"}']))
    ids = []
    line = json.dumps({"custom_id": "1", "query": "Vulkan", "query_language": "de", "method": "psq"}).encode()
    for name in ("revoked", "deleted"):
        info, _ = runtime.keys.create(NewKey(("jobs",), name, collections=("mine",)))
        with limited_to(info.limits):
            ids.append(runtime.jobs.submit(NewJob("search", "tag", key_id=info.id), iter([line])).id)
        if name == "revoked":
            runtime.keys.revoke(info.id)
        else:
            with runtime.store.write() as session:
                session.execute(delete(ApiKey).where(ApiKey.id == info.id))
    _, admin = runtime.keys.create(NewKey(("admin",)))
    runtime.close()
    with TestClient(make_app(settings), base_url="http://localhost") as restarted:
        client: Any = restarted
        client.headers["X-API-Key"] = admin
        assert [finished(client, id)["status"] for id in ids] == ["completed", "failed"]
        (result,) = read(client, ids[0], "results")
        assert [hit["collection"] for hit in result["response"]["hits"]] == ["mine"]
        assert read(client, ids[1], "results") == []
