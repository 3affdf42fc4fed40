"""The commands that the demo prints, pasted into a shell."""

from __future__ import annotations

import json
import subprocess

from dragoman.cli import demo


def _outputs(service: str) -> list[list[dict[str, object]]]:
    """What each printed command writes: one or several JSON objects."""
    results = []
    for line in demo.welcome(service).splitlines():
        if "curl -s" not in line:
            continue
        done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=60, check=True)
        decoder, rest, found = json.JSONDecoder(), done.stdout.strip(), []
        while rest:
            value, end = decoder.raw_decode(rest)
            found.append(value)
            rest = rest[end:].strip()
        results.append(found)
    return results


def test_the_printed_commands_work(service: str) -> None:
    (search,), (term,), (uploaded, taught) = _outputs(service)
    hits = search["hits"]
    assert isinstance(hits, list)
    assert len({hit["language"] for hit in hits}) >= 3
    translations = term["translations"]
    assert isinstance(translations, list)
    assert {"Bank", "Ufer"} <= {entry["term"] for entry in translations}
    assert uploaded["active"] is True
    found = taught["hits"]
    assert isinstance(found, list)
    assert "Taschenuhr" in found[0]["title"]
    assert found[0]["highlights"][0]["table"] == "my_words"
