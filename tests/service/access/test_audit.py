"""The audit log: what the API and the command line did, by whom, and how it ended."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import event

from dragoman.engine.core.errors import Conflict
from dragoman.service.access.audit import BEGUN, COMMAND_LINE, DONE, Actor, Audit
from dragoman.store.database import Store
from tests.support.access_client import ask, identifier, keys_command, make_key
from tests.support.errorbody import check_error
from tests.support.serving import Server, dragoman, server

pytestmark = pytest.mark.slow

NDJSON = {"content-type": "application/x-ndjson"}


def _entries(running: Server, key: str | None, **asked: int) -> list[dict[str, object]]:
    answer = ask(running, key, "GET", "/v1/audit", params=asked)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, object]] = answer.json()["entries"]
    return found


def _acts(entries: list[dict[str, object]]) -> list[tuple[object, ...]]:
    return [(one["action"], one["object"], one["outcome"]) for one in reversed(entries)]


def test_what_administrators_do_is_written_down(tmp_path: Path, database_url: str | None) -> None:
    given = {} if database_url is None else {"database_url": database_url}
    admin = make_key(tmp_path, database_url, "admin", name="ada")
    label = f"ada ({identifier(admin)})"
    with server(tmp_path, **given) as running:

        def do(method: str, path: str, **sent: object) -> int:
            return ask(running, admin, method, path, **sent).status_code

        languages = {"source": "en", "target": "de"}
        assert do("POST", "/v1/collections", json={"name": "c", "language": "sw"}) == 201
        assert do("POST", "/v1/collections", json={"name": "c", "language": "sw"}) == 409
        assert do("POST", "/v1/collections", json={"name": "C", "language": "sw"}) == 422  # nothing was attempted
        assert do("POST", "/v1/collections/c/documents", content=b'{"id": "1", "text": "neno"}') == 415
        lines = {"content": b'{"id": "1/2", "text": "neno"}\n'}
        running.client.headers["content-type"] = NDJSON["content-type"]
        assert do("POST", "/v1/collections/c/documents", **lines) == 200
        assert do("DELETE", "/v1/collections/c/documents/1%2F2") == 204
        assert do("DELETE", "/v1/collections/c/documents/%00") == 404
        assert do("PUT", "/v1/tables/t", params=languages, content=b"house\tHaus\n") == 201
        assert do("PUT", "/v1/tables/t", params=languages | {"dry_run": True}, content=b"house\tHaus\n") == 201
        assert do("PUT", "/v1/tables/t", params=languages, content=b"\n") == 422
        assert do("POST", "/v1/tables/t/versions/1/activate") == 200
        assert do("DELETE", "/v1/tables/t/versions/1") == 409
        assert do("POST", "/v1/tables/t/deactivate") == 200
        (version,) = ask(running, admin, "GET", "/v1/tables/t").json()["versions"]
        assert version["created_by"] == label
        assert do("DELETE", "/v1/tables/t/versions/1") == 204
        running.client.headers["content-type"] = "application/json"
        assert ask(running, admin, "PATCH", "/v1/collections/c", json={"description": "d"}).status_code == 200
        assert ask(running, admin, "PATCH", "/v1/collections/c", json={"name": "d"}).status_code == 200
        assert do("DELETE", "/v1/collections/d") == 204
        made = ask(running, admin, "POST", "/v1/keys", json={"scopes": ["jobs"]}).json()
        assert do("DELETE", f"/v1/keys/{made['id']}") == 204
        check_error(ask(running, made["key"], "GET", "/v1/audit"), 401, "revoked")

        entries = _entries(running, admin)
        assert _acts(entries) == [
            ("key.create", label, "done"),
            ("collection.create", "c", "done"),
            ("collection.create", "c", "conflict"),
            ("documents.import", "c", "done"),
            ("document.delete", "c/1/2", "done"),
            ("document.delete", "c/\ufffd", "not_found"),
            ("table.upload", "t/1", "done"),
            ("table.upload", "t", "validation"),
            ("table.activate", "t/1", "done"),
            ("table.delete", "t/1", "conflict"),
            ("table.deactivate", "t", "done"),
            ("table.delete", "t/1", "done"),
            ("collection.change", "c", "done"),
            ("collection.change", "c=d", "done"),
            ("collection.delete", "d", "done"),
            ("key.create", made["id"], "done"),
            ("key.revoke", made["id"], "done"),
        ]
        assert {(one["actor"], one["key_id"]) for one in entries[:-1]} == {(label, identifier(admin))}
        assert all(one["request_id"] for one in entries[:-1])
        assert (entries[-1]["actor"], entries[-1]["key_id"], entries[-1]["request_id"]) == (COMMAND_LINE, None, None)

        newest = _entries(running, admin, limit=2)
        assert newest == entries[:2]
        assert _entries(running, admin, limit=1000, before=int(str(newest[-1]["id"]))) == entries[2:]
        for asked in ({"limit": 0}, {"limit": 1001}, {"before": 0}, {"before": 2**63}):
            check_error(ask(running, admin, "GET", "/v1/audit", params=asked), 422, next(iter(asked)))


def test_the_command_line_and_open_services_are_written_down(tmp_path: Path) -> None:
    table = tmp_path / "table.tsv"
    table.write_text("house\tHaus\n")
    languages = ("--source", "en", "--target", "de")
    done = dragoman("table", "import", table, "--name", "t", *languages, "--data-dir", tmp_path / "data")
    assert done.returncode == 0, done.stderr
    with server(tmp_path / "data") as running:
        running.client.post("/v1/collections", json={"name": "c", "language": "sw"}, headers={"X-Request-Id": "mine"})
        key = running.client.post("/v1/keys", json={"scopes": ["admin"]}).json()["key"]
        other = make_key(tmp_path / "data", None, "admin")
        keys_command(tmp_path / "data", None, "revoke", identifier(other))
        revoke, create, first, collection, upload = _entries(running, key)
        assert (upload["actor"], upload["action"], upload["object"]) == (COMMAND_LINE, "table.upload", "t/1")
        assert (collection["actor"], collection["key_id"], collection["request_id"]) == ("anonymous", None, "mine")
        assert (first["actor"], first["action"], first["object"]) == ("anonymous", "key.create", identifier(key))
        for one, action in ((create, "key.create"), (revoke, "key.revoke")):
            assert (one["actor"], one["action"], one["object"]) == (COMMAND_LINE, action, identifier(other))
        (version,) = ask(running, key, "GET", "/v1/tables/t").json()["versions"]
        assert version["created_by"] == COMMAND_LINE


def test_an_action_that_never_ended_is_seen(store: Store) -> None:
    audit = Audit(store)
    with pytest.raises(KeyboardInterrupt), audit.record(Actor("ada"), "collection.delete", "c"):
        (during,) = audit.entries(1)
        assert during.outcome == BEGUN
        raise KeyboardInterrupt
    with pytest.raises(Conflict), audit.record(Actor("ada"), "collection.delete", "c"):
        raise Conflict("no")
    with pytest.raises(ZeroDivisionError), audit.record(Actor("ada"), "collection.delete", "c"):
        raise ZeroDivisionError
    assert [one.outcome for one in audit.entries(10)] == ["internal", "conflict", BEGUN]


def test_what_cannot_be_written_down_is_not_done(store: Store) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    done = []
    event.listen(store.engine, "before_cursor_execute", fail)
    with pytest.raises(OSError), Audit(store).record(Actor("ada"), "collection.delete", "c"):
        done.append("c")
    event.remove(store.engine, "before_cursor_execute", fail)
    assert not done
    assert not Audit(store).entries(1)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30, deadline=None)
@given(object=st.text(st.characters(), max_size=2000))
def test_anything_can_be_the_object(store: Store, object: str) -> None:
    with Audit(store).record(Actor("ada"), "document.delete", object):
        pass
    (entry,) = Audit(store).entries(1)
    assert entry.outcome == DONE
    assert len(entry.object) <= 640
    clean = object.replace("\0", "\ufffd").encode("utf-8", "replace").decode()
    assert entry.object[:637] == clean[:637]
