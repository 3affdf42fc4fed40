"""The tables of what is recorded for reports: searches, their words without translation, and what followed them."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Boolean, ForeignKey, Index, Integer, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from dragoman.store.models import Base, BigKey, Instant, now


class RecordedSearch(Base):
    """One search. ``query`` is as it was sent, or with ``hashed`` a keyed hash of it."""

    __tablename__ = "recorded_searches"

    id: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    at: Mapped[datetime] = mapped_column(Instant, default=now, index=True)
    request_id: Mapped[str] = mapped_column(String(128))
    language: Mapped[str] = mapped_column(String(8))
    query: Mapped[str] = mapped_column(Text)
    hashed: Mapped[bool] = mapped_column(Boolean)
    hits: Mapped[int] = mapped_column(Integer)
    kind: Mapped[str] = mapped_column(String(8), server_default="search")
    """What made it: ``search``, ``qa`` or ``job``."""

    __table_args__ = ({"sqlite_autoincrement": True},)


class RecordedWord(Base):
    """A word of a search that no table translates into a language, folded, or with ``hashed`` a keyed hash of that."""

    __tablename__ = "recorded_words"

    search_id: Mapped[int] = mapped_column(
        BigKey, ForeignKey("recorded_searches.id", ondelete="CASCADE"), primary_key=True, autoincrement=False
    )
    position: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    target: Mapped[str] = mapped_column(String(8))
    word: Mapped[str] = mapped_column(Text)


class RecordedEvent(Base):
    """What someone did with what a search found; ``query_id`` is the search's request id."""

    __tablename__ = "recorded_events"

    id: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    at: Mapped[datetime] = mapped_column(Instant, default=now, index=True)
    query_id: Mapped[str] = mapped_column(String(128))
    object_id: Mapped[str] = mapped_column(Text)
    action_name: Mapped[str] = mapped_column(String(64))
    click: Mapped[bool] = mapped_column(Boolean)
    client_id: Mapped[str | None] = mapped_column(Text)
    """As it was sent, or a keyed hash of it."""

    __table_args__ = (Index("ix_recorded_events_query_id", "query_id", "click"), {"sqlite_autoincrement": True})
