"""The process of one node: ``python -m workers.process NAME QUEUE SLOTS``, started by ``supervise``.

A Celery worker with the thread pool, but not by Celery's command: that one imports every subcommand, Flower's
too, and a third of a start went there. A start counts where a node has died and its jobs wait.
"""

from __future__ import annotations

import gc
import os
import sys


def main() -> int:
    """Run the node until it is told to end. Returns Celery's exit status."""
    name, queue, slots = sys.argv[1:]
    # What is imported stays: to look for garbage in it, now and in every later full collection, is in vain.
    gc.disable()
    from workers import worker
    from workers.app import app, settings

    worker.current(settings, name)
    node = app.Worker(
        hostname=name,
        pool="threads",
        concurrency=int(slots),
        queues=[queue],
        without_gossip=True,
        without_mingle=True,
        loglevel="INFO",
        quiet=True,
    )
    gc.freeze()
    gc.enable()
    node.start()
    return node.exitcode or os.EX_OK


if __name__ == "__main__":
    sys.exit(main())
