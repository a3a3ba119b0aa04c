"""The Celery app: ``celery -A workers.app worker`` makes this machine a worker, with any of Celery's pools.

Without ``-Q`` a worker takes jobs from all queues. ``python -m workers.supervise`` starts several of them,
each with a queue and slots of its own, and keeps them alive; that is what ``scrimmage worker`` does.
"""

from __future__ import annotations

import logging
from typing import Any

from celery import Celery, signals
from kombu.entity import Exchange, Queue

from shared.pool.jobs import QUEUE_FINAL, QUEUE_FINISH, QUEUE_SOLVE, celery_config
from shared.settings import Settings
from workers import lifeline, logs
from workers.node import Node

settings = Settings.load()

app = Celery("scrimmage", include=["workers.jobs"])
app.conf.update(celery_config(settings), worker_consumer="workers.consumer:Consumer")
app.conf.task_queues = [
    # as a sender names them that knows only the queue
    Queue(name, Exchange(name), routing_key=name)  # type: ignore[no-untyped-call]
    for name in (QUEUE_SOLVE, QUEUE_FINISH, QUEUE_FINAL)
]


def _log_as_we_do(**_: Any) -> None:
    logs.configure(settings)
    # What solvers print is an event as well: masked, one line.
    app.log.redirect_stdouts_to_logger(logging.getLogger("printed"), loglevel="INFO")


def _start_node(sender: Any, **_: Any) -> None:
    """Once Celery takes jobs: heartbeats, tending, and the watch on deafness begin."""
    Node.of(sender, settings).start()


lifeline.leave_with_starter()  # here, not by a signal: Flower loads the app too, and has none
signals.setup_logging.connect(_log_as_we_do)
signals.worker_ready.connect(_start_node)
