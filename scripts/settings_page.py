"""Write docs/settings.md anew from the settings in the code: .venv/bin/python scripts/settings_page.py"""

from __future__ import annotations

import inspect
from pathlib import Path

from dragoman.engine.settings.names import variable_of
from dragoman.engine.settings.settings import Settings

PAGE = Path(__file__).resolve().parent.parent / "docs" / "settings.md"
MARK = "<!-- scripts/settings_page.py writes what follows -->\n"
HEAD = "| variable | key | default | what it is |\n|---|---|---|---|\n"


def sections() -> str:
    """A heading and a table for each group."""
    parts = []
    for group, field in Settings.model_fields.items():
        model = field.annotation
        rows = [
            f"| `{variable_of(name)}` | `{name}` | {'none' if setting.default is None else setting.default}"
            f" | {setting.description} |\n"
            for name, setting in model.model_fields.items()
        ]
        parts.append(f"\n## {group}\n\n`[{group}]` {inspect.getdoc(model)}\n\n{HEAD}{''.join(rows)}")
    return "".join(parts)


def main() -> None:
    """Replace the sections of the groups; what stands before them stays."""
    before = PAGE.read_text(encoding="utf-8").partition(MARK)[0]
    PAGE.write_text(before + MARK + sections(), encoding="utf-8")


if __name__ == "__main__":
    main()
