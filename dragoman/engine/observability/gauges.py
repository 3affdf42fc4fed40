"""Gauges of the batching worker, read on each scrape: the queue and the running forward pass."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Protocol

from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from dragoman.engine.observability.metrics import gauge, task_name


class Worker(Protocol):
    """What computes batches on a thread of its own."""

    def waiting(self) -> dict[Hashable, tuple[int, int]]: ...

    def computing(self) -> tuple[Hashable, float] | None: ...


class WorkerState(Collector):
    """The queues of the worker threads of this process."""

    def __init__(self, workers: Sequence[Worker]) -> None:
        self._workers = workers

    def collect(self) -> Iterator[Metric]:
        items = gauge("worker_waiting_items", "Texts that wait for the models.", "task")
        cost = gauge("worker_waiting_cost", "Subwords (score) or characters (other tasks) that wait.", "task")
        waiting: dict[str, tuple[int, int]] = {}
        for worker in self._workers:
            for task, (many, much) in worker.waiting().items():
                before = waiting.get(task_name(task), (0, 0))
                waiting[task_name(task)] = (before[0] + many, before[1] + much)
        for name, (many, much) in waiting.items():
            items.add_metric([name], many)
            cost.add_metric([name], much)
        busy = gauge("worker_busy_seconds", "Time since the running forward pass started.", "task")
        for worker in self._workers:
            if (computing := worker.computing()) is not None:
                busy.add_metric([task_name(computing[0])], computing[1])
        yield from (items, cost, busy)
