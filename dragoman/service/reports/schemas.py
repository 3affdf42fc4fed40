"""Request and response bodies of ``/v1/events``."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from dragoman.store.models import now
from dragoman.store.reports.recording import EventMade
from dragoman.store.validation import Body, NotBlank

_YEARS = range(1970, 2200)


def _check_time(moment: datetime) -> datetime:
    if moment.year not in _YEARS:
        raise ValueError(f"must be of the years {_YEARS[0]} to {_YEARS[-1]}")
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


class EventBody(Body):
    """What someone did with what a search found, as in OpenSearch's User Behavior Insights."""

    model_config = ConfigDict(extra="forbid")

    query_id: NotBlank = Field(min_length=1, max_length=128, description="The `request_id` of a search.")
    object_id: NotBlank = Field(
        min_length=1, max_length=600, description="The document, by its id or as `collection/id`."
    )
    action_name: NotBlank = Field(
        min_length=1,
        max_length=64,
        description="What was done. Names that hold `click`, such as `item_click`, are clicks in reports.",
        examples=["click"],
    )
    client_id: NotBlank | None = Field(default=None, min_length=1, max_length=200, description="Who did it.")
    timestamp: Annotated[datetime, AfterValidator(_check_time)] | None = Field(
        default=None, description="When; UTC without a zone; by default now."
    )

    def as_event(self) -> EventMade:
        """What is recorded."""
        return EventMade(self.query_id, self.object_id, self.action_name, self.client_id, self.timestamp or now())


class EventTaken(BaseModel):
    """Whether an event is recorded."""

    accepted: int = Field(
        description="1; or 0 where searches are not recorded, or too much waits to be written: then it was dropped."
    )
