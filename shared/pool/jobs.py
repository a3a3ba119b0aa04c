"""Jobs: what is sent through Celery's broker, and the settings that both ends share.

A job is a name and a few ids, as JSON. It carries no state: the ledger holds the truth, so a job that comes
twice, late or never costs time only. ``Jobs`` sends by name, through a bare Celery app that knows no worker.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import parse_qsl, urlsplit

from kombu.exceptions import LimitExceeded, OperationalError
from pydantic import Field, field_validator

from shared.errors import SettingsError, Unavailable
from shared.models import Frozen, Kind, RunRef
from shared.pool.connection import UNTRUSTED, address, untrusted
from shared.settings import Settings

if TYPE_CHECKING:
    from celery import Celery

QUEUE_SOLVE = "scrimmage.solve"
QUEUE_FINISH = "scrimmage.finish"
QUEUE_FINAL = "scrimmage.final"
"""Tasks of a final run: they never stand behind a sweep's."""

SOLVE = "scrimmage.solve"
FINISH = "scrimmage.finish"
"""Names of the two jobs, as workers register them."""

_VISIBILITY_SECONDS = 3600
_ANSWER_SECONDS = 5.0
_MOST_CONNECTIONS = 10
_NOT_FOUND = "404"
_REFUSALS = {"AccessRefused", "AuthenticationError", "NotAllowed"}
"""Names of the errors by which RabbitMQ and Redis refuse user or password."""
_SEND_RETRIES = {"max_retries": 3, "interval_start": 0.1, "interval_step": 0.3, "interval_max": 1.0}


class FinishJob(Frozen):
    """Arguments of ``finish``: the run to drain."""

    platform: str
    run_id: str

    @field_validator("platform", "run_id")
    @classmethod
    def _is_a_name(cls, value: str) -> str:
        RunRef(platform=value, run_id=value)
        return value

    @property
    def ref(self) -> RunRef:
        return RunRef(platform=self.platform, run_id=self.run_id)


class SolveJob(FinishJob):
    """Arguments of ``solve``: the task to lease, and the solver by its registered name."""

    task_id: Annotated[str, Field(pattern=r"^[^|\x00-\x1f\x7f]{1,200}$")]
    solver: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]


def broker_url(settings: Settings) -> str:
    """The broker's URL: its own setting, else the pool's Redis. Raises SettingsError where both are unset."""
    url = settings.broker_url or settings.redis_url
    if not url:
        raise SettingsError(
            "no broker: set SCRIMMAGE_REDIS_URL (or SCRIMMAGE_BROKER_URL), or use `scrimmage up`"
        )
    return url


def celery_config(settings: Settings) -> dict[str, Any]:
    """Celery's settings, the same for workers and senders. Numbers in brackets: issues of celery.

    A Sentinel's URL names its master: ``sentinel://:PASSWORD@a:26379/0;sentinel://…?master_name=NAME``. A URL
    with TLS may name files: ``?ssl_ca_certs=…&ssl_certfile=…&ssl_keyfile=…``.
    """
    url, _, query = broker_url(settings).partition("?")
    scheme = urlsplit(url).scheme
    asked = dict(parse_qsl(query))
    if query and scheme in {"redis", "rediss"}:
        url = f"{url}?{query}"
    config: dict[str, Any] = {
        "broker_url": url,
        # JSON only: a message can never be code.
        "accept_content": ["json"],
        "task_serializer": "json",
        "event_serializer": "json",
        # The ledger holds results and progress; a result backend would be a second truth.
        "result_backend": None,
        "task_ignore_result": True,
        # A job is acknowledged when it is done, and comes back if its worker dies.
        "task_acks_late": True,
        "task_reject_on_worker_lost": True,
        # A job that raised is not redelivered: `tend` decides from the ledger.
        "task_acks_on_failure_or_timeout": True,
        # A slow task must not hold others back (#6500).
        "worker_prefetch_multiplier": 1,
        # After a lost broker connection running solves go on: their lease counts, not their delivery.
        "worker_cancel_long_running_tasks_on_connection_loss": False,
        "worker_enable_prefetch_count_reduction": False,
        # SIGQUIT gives running jobs this long before they are handed back.
        "worker_soft_shutdown_timeout": 10.0,
        # Flower shows jobs from the moment they are sent.
        "worker_send_task_events": True,
        "task_send_sent_event": True,
        # Workers wait for the broker for as long as it takes, from the start on.
        "broker_connection_retry": True,
        "broker_connection_retry_on_startup": True,
        "broker_connection_max_retries": None,
        "broker_connection_timeout": 4.0,
        # Senders give up soon and say so; whoever sends decides what then.
        "task_publish_retry": True,
        "task_publish_retry_policy": _SEND_RETRIES,
        "task_default_queue": QUEUE_SOLVE,
        "timezone": "UTC",
        # Reporting is structlog's.
        "worker_hijack_root_logger": False,
        # Longer than any task: an early redelivery runs a task twice at once (#5935). A killed worker's tasks
        # come back by their lease. Celery reads it in three places; the shortest of them wins.
        "visibility_timeout": _VISIBILITY_SECONDS,
        "result_backend_transport_options": {"visibility_timeout": _VISIBILITY_SECONDS},
    }
    if scheme in {"redis", "rediss", "sentinel"}:
        # Fetch a job only when a slot is free. Other brokers go by the prefetch count.
        config["worker_disable_prefetch"] = True
        config["broker_transport_options"] = {
            "visibility_timeout": _VISIBILITY_SECONDS,
            # Look for messages that are due to come back every second, not every 100 s.
            "unacked_restore_interval": 1,
            "unacked_restore_throttle": 1,
            # A silent or half-open connection is noticed (#8030). Celery's own blocking reads last 1 s.
            "socket_timeout": _ANSWER_SECONDS,
            "socket_connect_timeout": _ANSWER_SECONDS,
            "socket_keepalive": True,
            "health_check_interval": 10,
        }
    if scheme == "sentinel":
        config["broker_transport_options"]["master_name"] = asked.get("master_name", "mymaster")
    if scheme == "rediss":
        config["broker_use_ssl"] = {"ssl_cert_reqs": "required"}
    if scheme == "amqps":
        # The library checks the host's name only where it is given one; None stands for the URL's.
        names = {"ca_certs": "ssl_ca_certs", "certfile": "ssl_certfile", "keyfile": "ssl_keyfile"}
        files = {name: asked[ours] for name, ours in names.items() if ours in asked}
        config["broker_use_ssl"] = {"server_hostname": None, **files}
    return config


class Jobs:
    """Sends jobs and counts those that wait. Opens nothing before first use; for threads and across forks."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._made: _Sender | None = None
        self._making = threading.Lock()

    def solve(self, ref: RunRef, task_id: str, solver: str, kind: Kind) -> None:
        """Send one task to the workers; a final run's to a queue of its own.

        Raises:
            Unavailable: the broker did not take it within a few seconds.
            SettingsError: the broker refuses access.
        """
        job = SolveJob(platform=ref.platform, run_id=ref.run_id, task_id=task_id, solver=solver)
        queue = QUEUE_FINAL if kind is Kind.FINAL else QUEUE_SOLVE
        self._send(SOLVE, job, queue, f"{ref.platform} {ref.run_id} {task_id} {solver}")

    def finish(self, ref: RunRef, kind: Kind) -> None:
        """Ask the finisher to drain a run. Raises what ``solve`` raises."""
        job = FinishJob(platform=ref.platform, run_id=ref.run_id)
        self._send(FINISH, job, QUEUE_FINISH, f"{ref.platform} {ref.run_id} ({kind})")

    def waiting(self, queue: str) -> int:
        """Jobs in the broker's queue that no worker has taken yet; 0 where the queue does not exist.

        Raises:
            Unavailable: the broker does not answer.
            SettingsError: the broker refuses access.
        """
        with self._connection() as connection:
            try:
                return _size(connection, queue)
            except connection.connection_errors:  # it broke while it lay idle, or a 404 closed its channel
                connection.collect()
                _connect(connection)
                return _size(connection, queue)

    def ping(self) -> None:
        """Check that the broker answers. Raises Unavailable, or SettingsError where it refuses access."""
        sender = self._sender()
        with self._errors(sender), sender.app.connection_for_write() as connection:
            _connect(connection)

    def close(self) -> None:
        """Close the connections of this process."""
        with self._making:
            if self._made is not None and self._made.pid == os.getpid():
                self._made.connections.force_close_all()
                self._made.app.close()
            self._made = None

    def _send(self, name: str, job: FinishJob, queue: str, shown: str) -> None:
        with self._connection() as connection:
            app = self._sender().app
            app.send_task(
                name,
                kwargs=job.model_dump(),
                queue=queue,
                argsrepr=shown,
                kwargsrepr="",
                ignore_result=True,
                producer=app.amqp.Producer(connection),
            )

    @contextlib.contextmanager
    def _connection(self) -> Iterator[Any]:
        """A connection that is kept for the next time. What the broker's library raises is raised as ours."""
        sender = self._sender()
        with (
            self._errors(sender),
            sender.connections.acquire(block=True, timeout=_ANSWER_SECONDS) as connection,
        ):
            _connect(connection)
            yield connection

    @contextlib.contextmanager
    def _errors(self, sender: _Sender) -> Iterator[None]:
        broker = sender.connections.connection
        try:
            yield
        except (*broker.connection_errors, *broker.channel_errors, OperationalError, LimitExceeded) as error:
            where = address(broker_url(self._settings))
            if UNTRUSTED in str(error):
                raise SettingsError(untrusted(f"the broker at {where}")) from None
            if {type(one).__name__ for one in (error, error.__cause__)} & _REFUSALS:
                raise SettingsError(f"the broker at {where} refuses access: check its URL") from None
            raise Unavailable(f"the broker at {where} does not answer: {error}") from None

    def _sender(self) -> _Sender:
        """That of this process; one that was made before a fork is left alone."""
        with self._making:
            if self._made is None or self._made.pid != os.getpid():
                from celery import Celery

                app = Celery("scrimmage.sender", set_as_current=False, fixups=[])
                app.conf.update(celery_config(self._settings))
                connections = app.connection_for_write().Pool(_MOST_CONNECTIONS)
                self._made = _Sender(app, connections, os.getpid())
            return self._made


@dataclass(frozen=True)
class _Sender:
    """A bare Celery app, and connections of its own: those of Celery's pools are nobody's to close."""

    app: Celery
    connections: Any
    pid: int


def _connect(connection: Any) -> None:
    connection.ensure_connection(max_retries=1, timeout=_ANSWER_SECONDS)


def _size(connection: Any, queue: str) -> int:
    """Messages in a queue. Over a connection that is kept: a new one is two sockets and 190 objects."""
    try:
        return int(connection.default_channel.queue_declare(queue, passive=True).message_count)
    except connection.channel_errors as error:
        if str(getattr(error, "reply_code", None)) == _NOT_FOUND:  # a word on Redis, a number on AMQP
            return 0
        raise
