"""Plain statements over documents of the demo, as a user would try them: which label each gets, and which is right.

    python -m dragoman_lab.benchmarks.reasoning.statements_plain

They were written before anything was judged, and nothing is fitted on them. The tables are those of the demo.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from rich.console import Console
from rich.table import Table

import dragoman
from dragoman_lab.evaluation.benchmark import json_lines


@dataclass(frozen=True)
class PlainStatement:
    """A statement, the document of the demo that it is judged by, and the label that is right."""

    document: str
    statement: str
    language: str
    label: str
    certain: bool = False
    """Whether the text has it word for word, or with one number, date or name changed: no model is needed."""


STATEMENTS = [
    PlainStatement("de-001", "Die Operation dauerte elf Stunden.", "de", "true", certain=True),
    PlainStatement("de-001", "die operation dauerte 11 stunden", "de", "true", certain=True),
    PlainStatement("de-001", "Die Operation dauerte zwölf Stunden.", "de", "false", certain=True),
    PlainStatement("de-001", "The operation took eleven hours.", "en", "true"),
    PlainStatement("de-001", "The operation took three hours.", "en", "false"),
    PlainStatement("de-001", "The hospital was founded in 1986.", "en", "unknown"),
    PlainStatement("de-002", "Inzwischen gibt es in Deutschland 184 Rudel.", "de", "true", certain=True),
    PlainStatement("de-002", "Inzwischen gibt es in Deutschland 148 Rudel.", "de", "false", certain=True),
    PlainStatement("de-002", "There are now 184 packs in Germany.", "en", "true"),
    PlainStatement("de-002", "Bears live in the forests again.", "en", "unknown"),
    PlainStatement("de-003", "The planet orbits a red dwarf star.", "en", "true"),
    PlainStatement("de-003", "The planet is 97 light years from Earth.", "en", "true"),
    PlainStatement("de-003", "The planet is 79 light years from Earth.", "en", "false"),
    PlainStatement("fr-002", "Each year, about 6 billion baguettes leave the ovens of French bakers.", "en", "true"),
    PlainStatement("fr-002", "Each year, about 9 billion baguettes leave the ovens of French bakers.", "en", "false"),
    PlainStatement("fr-002", "La baguette coûte un euro à Lyon.", "fr", "unknown"),
    PlainStatement("fr-003", "Les enseignants saluent la mesure mais réclament aussi des classes moins chargées", "fr",
                   "true", certain=True),
    PlainStatement("es-002", "Each hive gives barely two litres of honey a year.", "en", "true"),
    PlainStatement("es-002", "Cada colmena da apenas tres litros de miel al año, muy apreciada por sus usos"
                   " medicinales.",
                   "es", "false", certain=True),
    PlainStatement("es-002", "The bees are exported to Japan.", "en", "unknown"),
    PlainStatement("ru-001", "Археологи нашли в Великом Новгороде берестяную грамоту XII века.", "ru", "true",
                   certain=True),
    PlainStatement("ru-002", "The biologists counted 240 grey whales off Sakhalin.", "en", "true"),
    PlainStatement("ru-002", "The biologists counted 420 grey whales off Sakhalin.", "en", "false"),
    PlainStatement("zh-003", "2016年村里修了钢梯，2020年八十四户人家搬到了县城的新楼房。", "zh", "true", certain=True),
    PlainStatement("zh-003", "2019年村里修了钢梯，2020年八十四户人家搬到了县城的新楼房。", "zh", "false", certain=True),
    PlainStatement("zh-002", "Farmers pollinate the pear trees by hand.", "en", "true"),
    PlainStatement("ar-003", "تنافس 1500 مرشح على مقاعد البرلمان، ربعهم من النساء.", "ar", "false"),
    PlainStatement("el-002", "The school in Vrisa was built in 1901.", "en", "unknown"),
]  # fmt: skip


def read_texts() -> dict[str, tuple[str, str]]:
    """The text and the language of each document of the demo."""
    folder = Path(str(files("dragoman") / "demo"))
    return {
        row["id"]: (row["text"], path.name.split(".")[1])
        for path in sorted(folder.glob("documents.*.jsonl"))
        for row in json_lines(path)
    }


def main() -> None:
    texts, folder = read_texts(), Path(str(files("dragoman") / "demo"))
    table = Table("document", "statement", "right", "label", "probability")
    right = labelled = wrong = 0
    with (
        tempfile.TemporaryDirectory() as temporary,
        dragoman.open(Path(temporary) / "data", embed="on_demand", rerank="never") as db,
    ):
        languages = {texts[each.document][1] for each in STATEMENTS if each.language != texts[each.document][1]}
        for language in sorted(languages):
            path = folder / f"table.en-{language}.tsv"
            db.tables.add(f"demo-{language}", path, source="en", target=language, kind="statistical")
        for each in STATEMENTS:
            text, text_language = texts[each.document]
            asked = {"question_language": each.language, "context": text, "context_language": text_language}
            judged = db.judge(each.statement, **asked)
            table.add_row(each.document, each.statement, each.label, judged.label, f"{judged.probability:.3f}")
            right += judged.label == each.label
            labelled += judged.label != "unknown"
            wrong += judged.label not in ("unknown", each.label)
    Console().print(table)
    Console().print({"statements": len(STATEMENTS), "right": right, "labelled": labelled, "labelled wrongly": wrong})


if __name__ == "__main__":
    main()
