"""MAWPS and GSM8K: which problems are taken, and how their solutions are written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dragoman_lab.reasoning.examples import ExamplesError
from dragoman_lab.reasoning.problems.sets import gsm8k, is_held_out, mawps


def written(folder: Path, *records: object) -> Path:
    path = folder / "set.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def problem(text: str, prefix: str, answer: str) -> dict[str, str]:
    return {"question": text, "equation_prefix": prefix, "answer": answer}


def test_equations_become_steps(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        problem("A hen lays 3 eggs , a goose 4 . How many ?", "+ 3 4", "7"),
        problem("b ?", "* + 3 2.50 2", "11"),
        problem("half ?", "/ 3 2", "1.5"),
        problem("three steps ?", "+ 1 + 1 + 1 1", "4"),
        problem("wrong ?", "+ 1 1", "3"),
        problem("broken ?", "+ 1", "1"),
        problem("zero ?", "/ 1 0", "0"),
    )
    every = {one.texts["en"]: one for flag in (True, False) for one in mawps(path, held_out=flag)}
    assert set(every) == {"A hen lays 3 eggs, a goose 4. How many?", "b?"}
    assert every["b?"].solution == "3 + 2.5 = 5.5. 5.5 * 2 = 11. The answer is 11." and every["b?"].steps == 2


def test_a_fifth_is_held_out_and_by_the_text_alone(tmp_path: Path) -> None:
    path = written(tmp_path, *(problem(f"{n} and {n} ?", f"+ {n} {n}", str(2 * n)) for n in range(1, 1001)))
    learned, measured = (list(mawps(path, held_out=flag)) for flag in (False, True))
    assert len(learned) + len(measured) == 1000 and 150 < len(measured) < 250
    assert is_held_out("Two Cats , one dog ?") == is_held_out("two cats, one dog")


def test_worked_answers_lose_their_calculators(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        {"question": "Q1", "answer": "She has 2*3=<<2*3=6>>6 hens\nand 6+1=<<6+1=7>>7 birds.\n#### 7"},
        {"question": "Q2", "answer": "1+1=<<1+1=2>>2\n2+1=<<2+1=3>>3\n3+1=<<3+1=4>>4\n#### 4"},
        {"question": "Q3", "answer": "It is 1000+200=<<1000+200=1200>>1200.\n#### 1,200"},
        {"question": "Q4", "answer": "None.\n#### 4"},
    )
    first, third = gsm8k(path)
    assert first.solution == "She has 2*3=6 hens. and 6+1=7 birds. The answer is 7." and first.steps == 2
    assert third.texts["en"] == "Q3" and third.answer == 1200


@pytest.mark.parametrize("read", [lambda path: mawps(path, held_out=True), gsm8k])
@pytest.mark.parametrize("record", [{}, [], 3, {"question": "a"}])
def test_other_records_are_refused_by_line(tmp_path: Path, read, record: object) -> None:
    path = written(tmp_path, record)
    with pytest.raises(ExamplesError, match="line 1"):
        list(read(path))
