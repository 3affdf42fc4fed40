"""What all groups of settings have in common."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Group(BaseModel):
    """Some settings that belong together, each with its default and what it is."""

    model_config = ConfigDict(extra="forbid")
