"""``/v1/keys``: API keys, and ``/v1/audit``: what administrators did."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Response

from dragoman.service.access.keys import KeyInfo, NewKey
from dragoman.service.access.schemas import AuditBody, AuditList, KeyBody, KeyList, KeyMade, NewKeyBody
from dragoman.service.dependencies import KNOWN_PARAMETERS, AccessDep, RecordDep, RuntimeDep
from dragoman.service.http.bodies import StrictRoute
from dragoman.store.models import now

router = APIRouter(prefix="/v1", route_class=StrictRoute, tags=["access"])


@router.post("/keys", status_code=201)
def create_key(
    new: NewKeyBody, response: Response, runtime: RuntimeDep, access: AccessDep, record: RecordDep
) -> KeyMade:
    """Create a key, which works at once. Only this response contains it.

    After the first key, an open service requires a key for every request. So the first one should have the scope
    admin. A key that is limited to some collections and tables sees nothing else: what is not its own answers as if
    it were not there. Its limits never change.
    """
    new_key = NewKey(
        tuple(new.scopes),
        new.name,
        new.expires_at,
        new.requests_per_second,
        new.burst,
        new.concurrent_requests,
        collections=None if new.collections is None else tuple(new.collections),
        tables=None if new.tables is None else tuple(new.tables),
    )
    with record("key.create", new.name) as recording:
        info, key = runtime.keys.create(new_key)
        recording.object = info.label
    access.invalidate()
    response.headers["Cache-Control"] = "no-store"
    return KeyMade(**_key(info).model_dump(), key=key)


@router.get("/keys")
def list_keys(runtime: RuntimeDep) -> KeyList:
    """All keys, including revoked and expired ones."""
    return KeyList(keys=[_key(info) for info in runtime.keys.all()])


@router.delete("/keys/{id}", status_code=204, response_class=Response)
def revoke_key(
    id: Annotated[str, Path(description="The key's id, which is part of it.")],
    runtime: RuntimeDep,
    access: AccessDep,
    record: RecordDep,
) -> None:
    """Revoke a key for good. The service still requires a key, even if this was the last one."""
    with record("key.revoke", id):
        runtime.keys.revoke(id)
    access.invalidate()


@router.get("/audit", dependencies=[KNOWN_PARAMETERS])
def list_audit(
    runtime: RuntimeDep,
    limit: Annotated[int, Query(ge=1, le=1000, description="How many entries.")] = 100,
    before: Annotated[int | None, Query(ge=1, le=2**63 - 1, description="Only entries older than this one.")] = None,
) -> AuditList:
    """What administrators did through the API and the command line, newest first."""
    entries = runtime.audit.entries(limit, before)
    return AuditList(entries=[AuditBody.model_validate(entry, from_attributes=True) for entry in entries])


def _state(info: KeyInfo) -> Literal["active", "expired", "revoked"]:
    if info.revoked_at is not None:
        return "revoked"
    return "active" if info.usable(now()) else "expired"


def _key(info: KeyInfo) -> KeyBody:
    return KeyBody.model_validate(
        {name: getattr(info, name) for name in KeyBody.model_fields if name != "state"} | {"state": _state(info)}
    )
