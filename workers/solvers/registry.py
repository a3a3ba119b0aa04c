"""Solvers by name: entry points and ``SCRIMMAGE_SOLVERS`` (``shared.registered``).

A job message carries a solver's name, never an import path: what a name means is decided on the worker's
machine. Each solver is built once per process, on first use.
"""

from __future__ import annotations

import hashlib
import importlib.util
import threading
from pathlib import Path

from shared import registered
from shared.errors import SettingsError, SolverFault
from shared.settings import Settings
from workers.context import Solver


class Solvers:
    """The solvers of one worker process.

    Args:
        settings: ``solvers`` adds to the entry points.
    """

    def __init__(self, settings: Settings) -> None:
        self._paths = registered.registered("solver", settings.solvers)
        self._built: dict[str, Solver] = {}
        self._lock = threading.Lock()

    @property
    def names(self) -> list[str]:
        return sorted(self._paths)

    def get(self, name: str) -> Solver:
        """The solver called ``name``, built on the first call.

        Raises:
            SettingsError: no such solver here, its module or class cannot be imported, or it says that a
                setting of its own is wrong.
            SolverFault: its module or its constructor raised.
        """
        with self._lock:
            if name not in self._built:
                self._built[name] = self._build(name)
            return self._built[name]

    def fingerprints(self) -> dict[str, str]:
        """Name → eight hex digits of the solver's source, for solvers that can be found on this machine."""
        found = {name: _fingerprint(path) for name, path in self._paths.items()}
        return {name: digits for name, digits in sorted(found.items()) if digits is not None}

    def _build(self, name: str) -> Solver:
        try:
            made = registered.load("solver", name, self._paths)
        except SettingsError:
            raise
        except Exception as error:  # a module is its author's code too, slips of the pen included
            raise SolverFault(
                f"solver {name!r}: importing {self._paths[name]} raised {type(error).__name__}: {error}"
            ) from error
        path = self._paths[name]
        try:
            solver = made()
        except SettingsError:  # another machine, or this one when it is mended, can play the task
            raise
        except Exception as error:  # a solver's constructor is its author's code: anything may come out
            raise SolverFault(f"solver {name!r}: {path}() raised {type(error).__name__}: {error}") from error
        if not callable(getattr(solver, "solve", None)):
            raise SettingsError(f"solver {name!r}: {path} has no method solve(task, context)")
        return solver  # type: ignore[no-any-return]


def _fingerprint(path: str) -> str | None:
    """Hash of a solver's source: every module in its folder, or its one module. None: cannot be found.

    The module itself is not imported, so that a heartbeat neither waits for nor fails with it.
    """
    module = path.partition(":")[0]
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return None
    if spec is None or spec.origin is None:
        return None
    origin = Path(spec.origin)
    in_package = "." in module or spec.submodule_search_locations is not None
    sources = sorted(origin.parent.glob("**/*.py")) if in_package else [origin]
    digest = hashlib.sha256()
    for source in sources:
        digest.update(source.name.encode())
        digest.update(source.read_bytes())
    return digest.hexdigest()[:8]
