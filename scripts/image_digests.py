"""Pin the images that docker/Dockerfile and docker-compose.yml name by the digests that their registry has now.

    python scripts/image_digests.py [--check]

It needs Docker with buildx and the network. A tag may be moved to other contents; a digest is the contents. With
--check nothing is written, and the status is 1 if an image is not pinned.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLACES = (
    (ROOT / "docker" / "Dockerfile", "python", re.compile(r"(?m)^(ARG PYTHON=)([^@\s]+)(@\S+)?$")),
    (ROOT / "docker-compose.yml", "postgres", re.compile(r"(?m)^( +image: postgres:)([^@\s]+)(@\S+)?$")),
)
"""File, image, and where its tag stands."""
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


def resolved(image: str) -> str:
    """The digest of an image in its registry.

    Raises:
        subprocess.CalledProcessError: it cannot be had; Docker has said why.
        ValueError: the answer is no digest.
    """
    command = ["docker", "buildx", "imagetools", "inspect", image, "--format", "{{.Manifest.Digest}}"]
    answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    if not DIGEST.fullmatch(answer):
        raise ValueError(f"{image}: {answer[:80]!r} is no digest")
    return answer


def pinned(text: str, image: str, place: re.Pattern[str], digest_of: Callable[[str], str]) -> str:
    """The text with the image's tag followed by its digest."""
    found, changed = place.search(text), text
    if found is None:
        raise ValueError(f"there is no tag of {image}")
    digest = digest_of(f"{image}:{found[2]}")
    return changed[: found.start()] + f"{found[1]}{found[2]}@{digest}" + changed[found.end() :]


def unpinned() -> list[str]:
    """The images without a digest."""
    return [
        image
        for path, image, place in PLACES
        if (found := place.search(path.read_text(encoding="utf-8"))) is None
        or not DIGEST.fullmatch((found[3] or "").removeprefix("@"))
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description="Pin the images by digest.")
    parser.add_argument("--check", action="store_true", help="only say which images are not pinned")
    if parser.parse_args().check:
        sys.exit(f"not pinned by digest: {', '.join(missing)}" if (missing := unpinned()) else None)
    for path, image, place in PLACES:
        text = pinned(path.read_text(encoding="utf-8"), image, place, resolved)
        path.write_text(text, encoding="utf-8")
        sys.stderr.write(f"{path.relative_to(ROOT)}: {image} is pinned\n")


if __name__ == "__main__":
    main()
