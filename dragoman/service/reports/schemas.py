"""Request and response bodies of ``/v1/events``."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from dragoman.engine.core.json import check_text
from dragoman.engine.core.limits import QUERY_CHARS
from dragoman.store.models import now
from dragoman.store.reports.recording import EventMade
from dragoman.store.validation import Body, NotBlank, Text

_FIRST_YEAR = 1970
_AHEAD = timedelta(days=1)
_ATTRIBUTES = 16_384
_ID = 600
_FURTHER = "Of UBI; taken, and not stored: no report uses it."


def _check_time(moment: datetime) -> datetime:
    moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    if moment.year < _FIRST_YEAR or moment > now() + _AHEAD:  # one of the future would never be old
        raise ValueError(f"must be of the year {_FIRST_YEAR} or later, and at most a day ahead")
    return moment


def _check_size(attributes: dict[str, Any]) -> dict[str, Any]:
    if len(json.dumps(attributes)) > _ATTRIBUTES:
        raise ValueError(f"longer than {_ATTRIBUTES} characters of JSON")
    return attributes


class EventBody(Body):
    """What someone did with what a search found, as in OpenSearch's User Behavior Insights.

    The document may also be in ``event_attributes.object.object_id``, where UBI has it.
    """

    model_config = ConfigDict(extra="forbid")

    query_id: NotBlank = Field(min_length=1, max_length=128, description="The `request_id` of a search.")
    object_id: NotBlank | None = Field(
        default=None,
        min_length=1,
        max_length=_ID,
        description="The document, by its id or as `collection/id`; by default `event_attributes.object.object_id`.",
    )
    action_name: NotBlank = Field(
        min_length=1,
        max_length=64,
        description="What was done. Names that hold `click`, such as `item_click`, are clicks in reports.",
        examples=["click"],
    )
    client_id: NotBlank | None = Field(default=None, min_length=1, max_length=200, description="Who did it.")
    timestamp: Annotated[datetime, AfterValidator(_check_time)] | None = Field(
        default=None, description="When; UTC without a zone, at most a day ahead; by default now."
    )
    application: Text | None = Field(default=None, max_length=200, description=_FURTHER)
    session_id: Text | None = Field(default=None, max_length=200, description=_FURTHER)
    user_query: Text | None = Field(default=None, max_length=QUERY_CHARS, description=_FURTHER)
    message: Text | None = Field(default=None, max_length=4_096, description=_FURTHER)
    message_type: Text | None = Field(default=None, max_length=200, description=_FURTHER)
    event_attributes: Annotated[dict[str, Any], AfterValidator(_check_size)] | None = Field(
        default=None, description="Of UBI; `object.object_id` alone is read. At most 16,384 characters of JSON."
    )

    @model_validator(mode="after")
    def _find_object(self) -> Self:
        if self.object_id is None:
            described = (self.event_attributes or {}).get("object")
            id = described.get("object_id") if isinstance(described, dict) else None
            if not isinstance(id, str | int) or isinstance(id, bool) or not str(id).strip() or len(str(id)) > _ID:
                raise ValueError("object_id: it is missing, and event_attributes.object.object_id is no id either")
            try:
                self.object_id = check_text(str(id))
            except ValueError as fault:
                raise ValueError(f"event_attributes.object.object_id: {fault}") from fault
        return self

    def as_event(self) -> EventMade:
        """What is recorded."""
        return EventMade(self.query_id, self.object_id or "", self.action_name, self.client_id, self.timestamp or now())


class EventTaken(BaseModel):
    """Whether an event is recorded."""

    accepted: int = Field(
        description="1; or 0 where searches are not recorded, or too much waits to be written: then it was dropped."
    )
