"""``/v1/aliases``: other names of collections."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Response

from dragoman.service.collections.schemas import AliasBody, AliasList, AliasTarget
from dragoman.service.dependencies import RecordDep, RuntimeDep
from dragoman.service.http.bodies import StrictRoute

router = APIRouter(prefix="/v1/aliases", route_class=StrictRoute, tags=["collections"])

AliasName = Annotated[str, Path(description="The alias: in form a name of a collection, and none that there is.")]


@router.get("")
def list_aliases(runtime: RuntimeDep) -> AliasList:
    """All aliases, by name."""
    aliases = runtime.collections.aliases.all()
    return AliasList(aliases=[AliasBody.model_validate(alias, from_attributes=True) for alias in aliases])


@router.get("/{alias}")
def get_alias(alias: AliasName, runtime: RuntimeDep) -> AliasBody:
    """The collection that an alias stands for."""
    return AliasBody.model_validate(runtime.collections.aliases.get(alias), from_attributes=True)


@router.put("/{alias}")
def set_alias(alias: AliasName, target: AliasTarget, runtime: RuntimeDep, record: RecordDep) -> AliasBody:
    """Let an alias stand for a collection, from the next request on, also where it stood for another.

    It may stand wherever a collection is named. A collection that an alias stands for cannot be deleted (409).
    """
    with record("alias.set", f"{alias}={target.collection}"):
        placed = runtime.collections.aliases.put(alias, target.collection)
    return AliasBody.model_validate(placed, from_attributes=True)


@router.delete("/{alias}", status_code=204, response_class=Response)
def delete_alias(alias: AliasName, runtime: RuntimeDep, record: RecordDep) -> None:
    """Delete an alias; its collection stays."""
    with record("alias.delete", alias):
        runtime.collections.aliases.delete(alias)
