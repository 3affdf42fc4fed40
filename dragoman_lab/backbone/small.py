"""The backbone that the lab ships: VECO trained from scratch, a folder of safetensors with a model card."""

from __future__ import annotations

from pathlib import Path

SMALL = Path(__file__).parent / "weights" / "small"
"""The folder of `small`; encoders and trainings take its path."""
