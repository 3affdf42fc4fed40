"""Write docs/settings.md anew from the settings in the code: .venv/bin/python scripts/settings_page.py"""

from __future__ import annotations

from pathlib import Path

from dragoman.service.core.settings import Settings

PAGE = Path(__file__).resolve().parent.parent / "docs" / "settings.md"
HEAD = "| variable | default | what it is |\n|---|---|---|\n"


def rows() -> list[str]:
    """A row for each setting."""
    return [
        f"| `DRAGOMAN_{name.upper()}` | {'none' if field.default is None else field.default} | {field.description} |"
        for name, field in Settings.model_fields.items()
    ]


def main() -> None:
    """Replace the rows; what stands before the table stays."""
    before = PAGE.read_text(encoding="utf-8").partition(HEAD)[0]
    PAGE.write_text(before + HEAD + "\n".join(rows()) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
