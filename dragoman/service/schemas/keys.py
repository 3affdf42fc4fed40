"""What ``/v1/keys`` and ``/v1/audit`` take and answer."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, StrictFloat, StrictInt, StrictStr

from dragoman.service.access.keys import LIMIT_MAX, NAME_CHARS, Scope


class NewKeyBody(BaseModel):
    """A key to be made. Limits that are left out are those of the settings; 0 is no limit."""

    model_config = ConfigDict(extra="forbid")

    scopes: list[Scope] = Field(min_length=1, max_length=3, description="What the key may be used for.")
    name: StrictStr = Field(default="", max_length=NAME_CHARS, description="What people call it.")
    expires_at: AwareDatetime | None = Field(default=None, description="When it stops working; never, when left out.")
    requests_per_second: Annotated[StrictFloat | StrictInt, Field(ge=0, le=LIMIT_MAX)] | None = None
    burst: Annotated[StrictInt, Field(ge=1, le=LIMIT_MAX)] | None = None
    concurrent_requests: Annotated[StrictInt, Field(ge=0, le=LIMIT_MAX)] | None = None


class KeyBody(BaseModel):
    """A key, without what it takes to use it."""

    id: str
    name: str
    scopes: list[Scope]
    state: Literal["active", "expired", "revoked"]
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None = Field(description="Up to a minute old.")
    revoked_at: datetime | None
    requests_per_second: float | None = Field(description="Its own limits; null is that of the settings, 0 is none.")
    burst: int | None
    concurrent_requests: int | None


class KeyMade(KeyBody):
    """A key just made, with the key itself, which is never shown again."""

    key: str


class KeyList(BaseModel):
    """All keys, oldest first."""

    keys: list[KeyBody]


class AuditBody(BaseModel):
    """One action of an administrator."""

    id: int
    at: datetime
    key_id: str | None = Field(description="The key used; null where the service was open, and on the command line.")
    actor: str
    action: str
    object: str
    outcome: str = Field(
        description="done; begun, while it goes on or where its process died; or the type of the error."
    )
    request_id: str | None


class AuditList(BaseModel):
    """The newest actions, newest first."""

    entries: list[AuditBody]
