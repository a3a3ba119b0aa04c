"""The models of one worker process: one endpoint and one pacing per key.

A dev run uses ``MODEL_KEY``, a final run ``EVAL_MODEL_KEY``, and neither ever the other's.
"""

from __future__ import annotations

import threading

from pydantic import SecretStr

from shared.deadline import Deadline
from shared.errors import SettingsError
from shared.models import Kind
from shared.pool.ledger import Lease
from shared.pool.pacing import Pacing
from shared.pool.pool import Pool
from shared.settings import Settings, fingerprint
from workers.model.endpoint import Endpoint
from workers.model.model import Model
from workers.model.prices import Price
from workers.transcript import Transcript


class Models:
    """Makes the model of each task. Made after the fork; for several threads."""

    def __init__(self, settings: Settings, pool: Pool) -> None:
        self._settings = settings
        self._pool = pool
        self._made: dict[Kind, tuple[Endpoint, Pacing]] = {}
        self._making = threading.Lock()

    def of(self, lease: Lease, deadline: Deadline, transcript: Transcript) -> Model | None:
        """The model of a task; None where none is configured.

        Raises:
            SettingsError: a model is named, but a final run's key is missing.
        """
        kind = lease.run.kind
        if self._settings.model is None:
            return None
        key = self._settings.eval_model_key if kind is Kind.FINAL else self._settings.model_key
        if key is None:
            if kind is Kind.FINAL:
                raise SettingsError(
                    "a final run's model needs a key of its own: set SCRIMMAGE_EVAL_MODEL_KEY"
                )
            return None
        endpoint, pacing = self._at(kind, self._settings.model, key)
        replays = self._pool.replays if lease.request.model_cache else None
        return Model(endpoint, pacing, self._pool.spend, replays, lease, deadline, transcript)

    def close(self) -> None:
        """Close the connections."""
        for endpoint, _ in self._made.values():
            endpoint.close()

    def _at(self, kind: Kind, model: str, key: SecretStr) -> tuple[Endpoint, Pacing]:
        settings = self._settings
        with self._making:
            if kind not in self._made:
                secret = key.get_secret_value()
                endpoint = Endpoint(
                    settings.model_url,
                    model,
                    secret,
                    provider=settings.model_provider,
                    price=Price.parse(settings.model_price) if settings.model_price else None,
                    timeout=settings.model_timeout,
                    connections=settings.threads,
                )
                name = f"model:{fingerprint(secret)}"
                pacing = Pacing(self._pool.redis, name, most=settings.model_concurrency)
                self._made[kind] = endpoint, pacing
            return self._made[kind]
