"""Solvers by name: entry points of the group ``scrimmage.solvers`` and the setting ``SCRIMMAGE_SOLVERS``.

A job message carries a solver's name, never an import path: what a name means is decided on the worker's
machine. Each solver is built once per process, on first use.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import threading
from importlib.metadata import entry_points
from pathlib import Path

from shared.errors import SettingsError, SolverFault
from shared.settings import Settings, named_paths
from workers.context import Solver

GROUP = "scrimmage.solvers"


class Solvers:
    """The solvers of one worker process.

    Args:
        settings: ``solvers`` adds to the entry points, and wins over one of the same name.
    """

    def __init__(self, settings: Settings) -> None:
        self._paths = {point.name: point.value for point in entry_points(group=GROUP)}
        self._paths.update(named_paths(settings.solvers))
        self._built: dict[str, Solver] = {}
        self._lock = threading.Lock()

    @property
    def names(self) -> list[str]:
        return sorted(self._paths)

    def get(self, name: str) -> Solver:
        """The solver called ``name``, built on the first call.

        Raises:
            SettingsError: no such solver here, or its module or class cannot be imported.
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
        path = self._paths.get(name)
        if path is None:
            raise SettingsError(
                f"no solver is called {name!r} on this worker; known: {', '.join(self.names) or 'none'} "
                "(add one with SCRIMMAGE_SOLVERS=name=module:Class)"
            )
        module_name, _, class_name = path.partition(":")
        try:
            made = getattr(importlib.import_module(module_name), class_name)
        except (ImportError, AttributeError) as error:
            raise SettingsError(f"solver {name!r}: cannot import {path}: {error}") from error
        except Exception as error:  # a module is its author's code too, slips of the pen included
            raise SolverFault(
                f"solver {name!r}: importing {path} raised {type(error).__name__}: {error}"
            ) from error
        try:
            solver = made()
        except Exception as error:  # a solver's constructor is its author's code: anything may come out
            raise SolverFault(f"solver {name!r}: {path}() raised {type(error).__name__}: {error}") from error
        if not callable(getattr(solver, "solve", None)):
            raise SettingsError(f"solver {name!r}: {path} has no method solve(task, context)")
        return solver  # type: ignore[no-any-return]


def _fingerprint(path: str) -> str | None:
    """Hash of a solver's source: all modules of its package, or its one module. None: cannot be found.

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
    sources = sorted(origin.parent.glob("**/*.py")) if "." in module else [origin]
    digest = hashlib.sha256()
    for source in sources:
        digest.update(source.name.encode())
        digest.update(source.read_bytes())
    return digest.hexdigest()[:8]
