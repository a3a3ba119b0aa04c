"""Celery's consumer, made to survive a broker that goes away while jobs run.

With Celery 5.7 a worker whose Redis restarts under running jobs ends: it gives unacknowledged messages back,
and later acknowledges jobs, over the connection that broke, and what that raises is caught nowhere. And it
asks for a new connection after 2, 4, 6 … up to 30 seconds; a run cannot wait so long.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import structlog
from celery.exceptions import CPendingDeprecationWarning
from celery.worker import consumer

FIRST_PAUSE, MORE_PAUSE, LONGEST_PAUSE = 0.25, 0.25, 1.0
"""Seconds between two tries to reach the broker."""

log = structlog.get_logger(__name__)


class Consumer(consumer.Consumer):  # type: ignore[misc]
    """Used by the setting ``worker_consumer``."""

    def on_connection_error_after_connected(self, exc: Exception) -> None:
        """Drop the connection, whatever it says to that; running jobs go on, their leases count."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", CPendingDeprecationWarning)  # of a setting that is set
                super().on_connection_error_after_connected(exc)
        except Exception as error:  # noqa: BLE001 - a connection that is given up may fail in any way
            log.warning("broken_connection_dropped", reason=f"{type(error).__name__}: {error}")

    def call_soon_ack(self, p: Callable[..., object], *args: Any, **kwargs: Any) -> Any:
        """Acknowledge a job; one whose connection broke meanwhile comes again, and finds nothing to do."""

        def acknowledge() -> None:
            try:
                p(*args, **kwargs)
            except Exception as error:  # noqa: BLE001 - as above
                log.warning("job_not_acknowledged", reason=f"{type(error).__name__}: {error}")

        return super().call_soon_ack(acknowledge)

    def ensure_connected(self, conn: Any) -> Any:
        """Wait for the broker for as long as it takes, asking about once a second."""
        conn.ensure_connection = partial(
            conn.ensure_connection,
            interval_start=FIRST_PAUSE,
            interval_step=MORE_PAUSE,
            interval_max=LONGEST_PAUSE,
        )
        return super().ensure_connected(conn)
