"""The precision of embeddings after a restart: that of those that are stored, which are not made again."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import torch

from dragoman.backbone import products
from tests.service.qa.test_endpoints import write_documents
from tests.service.worker.test_child_process import embedded, search
from tests.support.backbones import tiny_veco
from tests.support.serving import server, wait_for

pytestmark = pytest.mark.slow


def stored(data_dir: Path) -> tuple[str, list[bytes]]:
    """What made the embeddings, and their vectors."""
    with closing(sqlite3.connect(data_dir / "dragoman.db")) as database:
        ((identity,),) = database.execute("SELECT encoder FROM collections").fetchall()
        rows = database.execute("SELECT vectors FROM document_embeddings ORDER BY document_key").fetchall()
    return identity, [vectors for (vectors,) in rows]


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_restart_keeps_the_precision_though_another_may_be_faster(tmp_path: Path, precision: str) -> None:
    """One of the two is not the fastest on any machine."""
    if precision == "bfloat16" and not products.runs("cpu", torch.bfloat16):
        pytest.skip("this processor has no bfloat16")
    settings = {"worker_mode": "process", "embed": "always", "encoder": tiny_veco(tmp_path / "encoder")}
    with server(tmp_path / "data", encoder_precision=precision, **settings) as running:
        write_documents(running)
        wait_for(lambda: embedded(running))
        running.stop()
    before = stored(tmp_path / "data")
    assert before[0].endswith(f" {precision}") and len(before[1]) == 3
    for _ in range(2):
        with server(tmp_path / "data", **settings) as running:
            wait_for(lambda: embedded(running))
            assert search(running, "Die Bank")["hits"]
            running.stop()
        assert stored(tmp_path / "data") == before
