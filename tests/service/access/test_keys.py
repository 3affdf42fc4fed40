"""Keys: nothing about a refusal, its work included, says which ids there are; keys follow others."""

from __future__ import annotations

import asyncio
import hmac

import pytest

from dragoman.service.access.authenticator import Access
from dragoman.service.access.keys import KeyInfo, Keys, NewKey, claimed_id
from dragoman.service.core.errors import Unauthorized
from dragoman.service.core.settings import Settings
from dragoman.service.storage.database import Store


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
