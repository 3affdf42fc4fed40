"""Keys: nothing about a refusal, its work included, says which ids there are; keys follow others."""

from __future__ import annotations

import asyncio
import hmac
from datetime import timedelta
from pathlib import Path

import pytest

from dragoman.engine.core.errors import Conflict, InvalidRequest, NotFound, Unauthorized
from dragoman.engine.core.key_limits import limited_to
from dragoman.engine.settings import Settings
from dragoman.service.access.authenticator import Access
from dragoman.service.access.keys import KeyInfo, Keys, NewKey, claimed_id, recognise_key
from dragoman.store.collections.aliases import find_collection
from dragoman.store.collections.granted import note_renamed, visible_collections
from dragoman.store.database import Store
from dragoman.store.models import Collection, now
from tests.support.access_client import identifier, keys_command, make_key
from tests.support.serving import dragoman


class CountedKeys(Keys):
    """Keys that count how often they are read."""

    reads = 0

    def all(self) -> list[KeyInfo]:
        self.reads += 1
        return super().all()


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_an_unknown_id_costs_what_a_wrong_secret_costs(
    store: Store, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = CountedKeys(store)
    info, key = stored.create(NewKey(("search",)))
    compared: list[str] = []
    compare_digest = hmac.compare_digest

    def compare(left: str, right: str) -> bool:
        compared.append(right)
        return compare_digest(left, right)

    monkeypatch.setattr(hmac, "compare_digest", compare)

    async def cost(given: str) -> tuple[int, int, str]:
        access = Access(stored, settings)
        assert (await access.caller(key)).key_id == info.id  # what is compared below is cached now
        reads, compared[:] = stored.reads, []
        with pytest.raises(Unauthorized) as refusal:
            await access.caller(given)
        await access.close()
        return stored.reads - reads, len(compared), f"{refusal.value.reason}: {refusal.value}"

    wrong_secret = asyncio.run(cost(f"dragoman_{info.id}_{'A' * 43}"))
    unknown_id = asyncio.run(cost(f"dragoman_000000000000_{'A' * 43}"))
    assert wrong_secret == unknown_id == (1, 2, "unknown: the API key is not known")


def test_only_what_has_the_form_of_a_key_claims_an_id() -> None:
    assert claimed_id(f"dragoman_0123456789ab_{'A' * 43}") == "0123456789ab"
    assert [claimed_id(given) for given in (None, "", "hunter2", "dragoman_0123456789ab_short")] == [None] * 4


def test_a_rotated_key_works_beside_its_successor_until_the_grace_is_over(store: Store) -> None:
    stored = Keys(store)
    limits = {"requests_per_second": 2.5, "burst": 7, "concurrent_requests": 3}
    old, old_key = stored.create(NewKey(("search", "jobs"), "ada", now() + timedelta(days=90), **limits))  # type: ignore[arg-type]
    new, new_key = stored.rotate(old.id, timedelta(hours=24))
    for name in ("name", "scopes", *limits):
        assert getattr(new, name) == getattr(old, name)
    assert new.expires_at is not None and old.expires_at is not None
    assert abs(new.expires_at - new.created_at - timedelta(days=90)) < timedelta(minutes=1)
    keys = {info.id: info for info in stored.all()}
    assert {recognise_key(keys, key).id for key in (old_key, new_key)} == {old.id, new.id}  # type: ignore[union-attr]
    expiry = keys[old.id].expires_at
    assert expiry is not None and timedelta(hours=23) < expiry - now() <= timedelta(hours=24)

    stored.rotate(old.id, timedelta(days=400))
    assert {info.id: info for info in stored.all()}[old.id].expires_at == expiry  # grace never gives a key more time
    stored.rotate(old.id, timedelta(0))
    with pytest.raises(Unauthorized, match="has expired"):
        recognise_key({info.id: info for info in stored.all()}, old_key)
    with pytest.raises(Conflict, match="revoked or has expired"):
        stored.rotate(old.id, timedelta(0))


def test_a_rotated_key_has_the_limits_of_the_old_one(store: Store) -> None:
    """They name the collection as it is named now, and stay the key's once it is revoked, until all are forgotten."""
    stored = Keys(store)
    with store.write() as session:
        session.add(Collection(name="news", language="de"))
    old, _ = stored.create(NewKey(("search",), collections=("news", "later"), tables=()))
    with store.write() as session:
        row = find_collection(session, "news")
        assert row is not None
        row.name = "press"
        note_renamed(session, row)
    new, _ = stored.rotate(old.id, timedelta(0))
    assert (new.collections, new.tables) == (("press", "later"), ())
    stored.revoke(new.id)
    with limited_to(stored.limits(new.id)), store.read() as session:
        assert visible_collections(session) == {row.id}
    stored.forget()
    with pytest.raises(NotFound):
        stored.limits(new.id)
    with pytest.raises(InvalidRequest, match=r"tables\[1\]"):
        stored.create(NewKey(("search",), tables=("a", "A b")))


def test_the_command_line_makes_keys_that_expire_and_rotates_them(tmp_path: Path) -> None:
    key = make_key(tmp_path, None, "search", name="ada", expires_in="90d")
    printed = keys_command(tmp_path, None, "rotate", identifier(key), "--grace", "12h").strip().splitlines()
    assert len(printed) == 1
    listed = keys_command(tmp_path, None, "list")
    assert "expires" in listed and "last used" in listed
    assert f"{now() + timedelta(days=90):%Y-%m-%d}" in listed
    assert identifier(printed[0]) in listed
    made = dragoman(
        "keys", "create", "--scope", "jobs", "--collection", "b", "--collection", "a", "--data-dir", tmp_path
    )
    assert made.returncode == 0, made.stderr
    assert "b, a" in keys_command(tmp_path, None, "list")
    make_key(tmp_path, None, "search", expires_at="2999-01-31")
    assert "2999-01-31 00:00" in keys_command(tmp_path, None, "list")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--expires-in", "soon"), "write it as 90d"),
        (("--expires-in", "999999999w"), "is too long"),
        (("--expires-in", "5000000d"), "is after the year 9999"),
        (("--expires-at", "tomorrow"), "write it as 2030-01-31"),
        (("--expires-at", "2020-01-01"), "is in the past"),
        (("--expires-in", "1d", "--expires-at", "2999-01-31"), "give one of"),
    ],
)
def test_an_expiry_that_is_none_is_refused(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    done = dragoman("keys", "create", "--scope", "search", *arguments, "--data-dir", tmp_path)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
    assert "dragoman_" not in done.stdout
