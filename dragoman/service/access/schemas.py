"""Request and response bodies of ``/v1/keys`` and ``/v1/audit``."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, StrictFloat, StrictInt, StrictStr

from dragoman.service.access.keys import LIMIT_MAX, NAME_CHARS, NAMES_OF_KEY, Scope
from dragoman.store.validation import AtFirstFault, Body, Name

_Names = Annotated[list[Name], AtFirstFault, Field(max_length=NAMES_OF_KEY)]


class NewKeyBody(Body):
    """A key to create. Limits that are left out come from the settings; 0 means no limit."""

    model_config = ConfigDict(extra="forbid")

    scopes: Annotated[list[Scope], AtFirstFault] = Field(min_length=1, max_length=3, description="What the key allows.")
    name: StrictStr = Field(default="", max_length=NAME_CHARS, description="A name for people to read.")
    expires_at: AwareDatetime | None = Field(default=None, description="When it expires; left out: never.")
    requests_per_second: Annotated[StrictFloat | StrictInt, Field(ge=0, le=LIMIT_MAX)] | None = None
    burst: Annotated[StrictInt, Field(ge=1, le=LIMIT_MAX)] | None = None
    concurrent_requests: Annotated[StrictInt, Field(ge=0, le=LIMIT_MAX)] | None = None
    collections: _Names | None = Field(
        default=None,
        description="The only collections that the key sees, by name or alias; some may be created later."
        " Left out: all.",
    )
    tables: _Names | None = Field(
        default=None,
        description="The only translation tables that the key sees and its searches use. Left out: all.",
    )


class KeyBody(BaseModel):
    """A key without its secret."""

    id: str
    name: str
    scopes: list[Scope]
    state: Literal["active", "expired", "revoked"]
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None = Field(description="Up to a minute old.")
    revoked_at: datetime | None
    requests_per_second: float | None = Field(description="Its own limit; null: that of the settings; 0: no limit.")
    burst: int | None
    concurrent_requests: int | None
    collections: list[str] | None = Field(
        description="The only collections that it sees, as they are named now; null: all."
    )
    tables: list[str] | None = Field(description="The only translation tables that it sees; null: all.")


class KeyMade(KeyBody):
    """A new key with its secret, which is never shown again."""

    key: str


class KeyList(BaseModel):
    """All keys, oldest first."""

    keys: list[KeyBody]


class AuditBody(BaseModel):
    """One action of an administrator."""

    id: int
    at: datetime
    key_id: str | None = Field(description="The key used; null for an open service and for the command line.")
    actor: str
    action: str
    object: str
    outcome: str = Field(
        description="done; begun, while it runs or if its process died; or the error_type of a failure."
    )
    request_id: str | None


class AuditList(BaseModel):
    """The newest actions, newest first."""

    entries: list[AuditBody]
