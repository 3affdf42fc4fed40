"""The tests' files lie in memory only where there is room, and a container has less than its machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.disk_in_memory import room_in_memory


@pytest.mark.parametrize(
    ("most", "used"),
    [("memory.max", "memory.current"), ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes")],
)
def test_a_containers_limit_is_seen_in_either_version(tmp_path: Path, most: str, used: str) -> None:
    free = room_in_memory(tmp_path)
    if free < 1 << 20:
        pytest.skip("there is no disk in memory")
    (tmp_path / "memory").mkdir()
    (tmp_path / used).write_text("3000\n", encoding="ascii")
    for limit, room in (("7000\n", 4000), ("2000\n", 0)):
        (tmp_path / most).write_text(limit, encoding="ascii")
        assert room_in_memory(tmp_path) == room
    for unlimited in ("max\n", "9223372036854771712\n"):
        (tmp_path / most).write_text(unlimited, encoding="ascii")
        assert room_in_memory(tmp_path) > 1 << 20
