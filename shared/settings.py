"""Settings: environment variables with the prefix ``SCRIMMAGE_``, and ``.env`` in the working folder.

A few names that platforms hand out are also read without the prefix (each field says which). Keys are
``SecretStr``: they print as stars. An empty variable is an unset one. ``scrimmage doctor`` shows each setting
and where it came from.
"""

from __future__ import annotations

import hashlib
import io
import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from dotenv.parser import parse_stream
from pydantic import AliasChoices, Field, SecretStr, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from shared import registered
from shared.errors import SettingsError


def _names(field: str, *also: str) -> AliasChoices:
    return AliasChoices(f"SCRIMMAGE_{field.upper()}", *also, field)


class Settings(BaseSettings):
    """All that a user can set. Defaults work for a pool on one machine."""

    model_config = SettingsConfigDict(
        env_prefix="SCRIMMAGE_",
        env_file=".env",
        env_ignore_empty=True,
        extra="ignore",
        frozen=True,
        populate_by_name=True,
    )

    redis_url: str | None = None
    """The pool's Redis; None: `up`, `run` and `demo` bring up an embedded one."""
    cache_url: str | None = None
    """Redis for blobs and parsed documents; None: the same server."""
    broker_url: str | None = None
    """Celery's broker, redis://, rediss://, sentinel:// or amqp://; None: the pool's Redis."""

    arena_url: str = "https://ibm-hackathon-arena.vercel.app/api/v1"
    arena_key: SecretStr | None = Field(
        None, validation_alias=_names("arena_key", "SCRIMMAGE_ARENA_API_KEY", "ARENA_API_KEY")
    )

    arena_cost_floor: float | None = Field(None, gt=0)
    """US dollars at or below which the cost score is 1 (the dashboard's figure)."""
    arena_cost_cap: float | None = Field(None, gt=0)
    """US dollars at or above which the cost score is 0 (the dashboard's figure)."""

    a2awire_url: str = "https://a2awire.com"
    a2awire_api_key: SecretStr | None = Field(
        None, validation_alias=_names("a2awire_api_key", "A2AWIRE_API_KEY")
    )
    benchgen_url: str = "https://api.benchgen.com"
    benchgen_token: SecretStr | None = None

    model_url: str = "https://openrouter.ai/api/v1"
    model: str | None = None
    """The chat model's name; None: solvers get no model."""
    model_key: SecretStr | None = Field(None, validation_alias=_names("model_key", "OPENROUTER_API_KEY"))
    eval_model_key: SecretStr | None = None
    """A final run uses this key and no other."""
    model_provider: str | None = None
    """Who serves the model at OpenRouter (several with commas, in that order); None: OpenRouter chooses."""
    model_price: str | None = None
    """``IN/OUT`` or ``IN/CACHED/OUT``, US dollars per million tokens, where the endpoint names no price."""
    model_timeout: float = Field(120.0, gt=0)
    """Seconds until an unanswered model call counts as lost."""
    model_concurrency: int = Field(64, ge=1)
    """Model calls at a time with one key, at most; the pool finds out how many are good."""

    solvers: str = ""
    """More solvers, ``name=module:Class,…``, beside the entry-point group ``scrimmage.solvers``."""
    platforms: str = ""
    """More platforms, ``name=module:Class,…``, beside the entry-point group ``scrimmage.platforms``."""

    archive: Path = Path("archive")
    """Folder of finished runs."""
    data: Path = Path(".scrimmage")
    """Folder of the embedded Redis and of logs."""

    bucket_margin_tokens: int = Field(10, ge=0)
    """Tokens of a platform's burst that are left unused. Requests that wait on the way arrive closer together
    than they were granted: ten tokens of Harness Arena's allow for half a second of that."""
    bucket_margin_rate: float = Field(0.005, ge=0, lt=1)
    """Part of a platform's rate that is left unused."""
    http_timeout: float = Field(30.0, gt=0)
    """Seconds until an unanswered request counts as failed."""

    processes: int = Field(2, ge=1)
    """Celery processes for solving, per `scrimmage worker`."""
    threads: int = Field(32, ge=1)
    """Solves at a time in each of them."""
    node_memory_mb: int = Field(1024, ge=256)
    """A worker process that holds more finishes its jobs and is replaced."""
    lease_seconds: float = Field(10.0, gt=0)
    """A worker that is silent for so long has lost its tasks."""
    blob_ttl: float = Field(6 * 3600.0, gt=0)
    """Seconds that an unused blob, parsed document or replay stays cached."""
    blob_cache_bytes: int = Field(256 * 2**20, gt=0)
    """All cached blobs together."""

    @field_validator("arena_url", "a2awire_url", "benchgen_url", "model_url")
    @classmethod
    def _is_an_origin(cls, value: str) -> str:
        value = value.strip()
        parts = urlsplit(value)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError("must be an http(s) URL with a host")
        if parts.port == 0:  # one that is out of range or no number raises by itself
            raise ValueError("must have a port that can be connected to")
        if parts.username or parts.password:
            raise ValueError("must not carry a user or password")
        if parts.query or parts.fragment:
            raise ValueError("must end with its path: no ?query, no #fragment")
        return value.rstrip("/")

    @field_validator("arena_key", "a2awire_api_key", "benchgen_token", "model_key", "eval_model_key")
    @classmethod
    def _is_a_key(cls, value: SecretStr | None) -> SecretStr | None:
        """White space around a key comes from copying it, quotes from files of variables that keep them.
        Inside, white space and what is not ASCII cannot be sent."""
        if value is None:
            return None
        key = value.get_secret_value().strip()
        if key[:1] in {"'", '"'} and key.endswith(key[:1]):
            key = key[1:-1].strip()
        if not key or not key.isascii() or not key.isprintable() or " " in key:
            raise ValueError("is no key: it must be printable ASCII without white space inside")
        return SecretStr(key)

    @field_validator("model_price")
    @classmethod
    def _is_a_price(cls, value: str | None) -> str | None:
        if value is not None and not re.fullmatch(r"\d+(\.\d+)?(/\d+(\.\d+)?){1,2}", value):
            raise ValueError("must be IN/OUT or IN/CACHED/OUT in US dollars per million tokens (0.25/2)")
        return value

    @field_validator("solvers", "platforms")
    @classmethod
    def _names_paths(cls, value: str) -> str:
        registered.parse(value)
        return value

    @field_validator("arena_cost_cap")
    @classmethod
    def _is_above_the_floor(cls, value: float | None, info: ValidationInfo) -> float | None:
        floor = info.data.get("arena_cost_floor")
        if value is not None and floor is not None and value <= floor:
            raise ValueError(f"must be above SCRIMMAGE_ARENA_COST_FLOOR, {floor:g} (got {value:g})")
        return value

    @classmethod
    def load(cls, **overrides: Any) -> Settings:
        """Read the environment and ``.env``.

        Raises:
            SettingsError: a value is missing or wrong; the message names the variable, never a secret.
        """
        if dotenv := overrides.get("_env_file", cls.model_config.get("env_file")):
            _check(Path(dotenv))
        try:
            return cls(**overrides)
        except ValidationError as error:
            rows = "; ".join(
                f"SCRIMMAGE_{str(row['loc'][0]).upper().removeprefix('SCRIMMAGE_')}: "
                f"{row['msg'].removeprefix('Value error, ')}"
                for row in error.errors(include_input=False, include_url=False)
            )
            raise SettingsError(f"settings: {rows}") from None


def _check(dotenv: Path) -> None:
    """A line that is no setting would only be left out: whoever wrote it meant something."""
    if not dotenv.is_file():
        return
    try:
        bindings = list(parse_stream(io.StringIO(dotenv.read_text(encoding="utf-8"))))
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{dotenv} cannot be read: {error}") from None
    for binding in bindings:
        if binding.error:
            raise SettingsError(f"{dotenv}, line {binding.original.line}: expected NAME=value")


def url_secrets(url: str) -> set[str]:
    """The passwords that a Redis or broker URL carries, as written in it and as they are sent."""
    found = set()
    for one in url.split(";"):  # Sentinel URLs are several
        try:
            parts = urlsplit(one)
            found |= {parts.password or "", *dict(parse_qsl(parts.query)).get("password", "").split()}
        except ValueError:
            continue
    return {secret for raw in found if raw for secret in (raw, unquote(raw))}


def without_secrets(url: str) -> str:
    """A URL as it may be shown: its passwords replaced by stars."""
    for secret in sorted(url_secrets(url), key=len, reverse=True):
        url = url.replace(secret, "***")
    return url


def fingerprint(secret: str) -> str:
    """Eight hex digits that name a key without giving it away (logs, heartbeats, bucket names)."""
    return hashlib.blake2b(secret.encode(), digest_size=16, person=b"scrimmage-key").hexdigest()[:8]
