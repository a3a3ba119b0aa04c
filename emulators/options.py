"""What every emulator is started with: where it listens, and who may control it."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Annotated, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from shared.errors import UsageError


class ServerOptions(BaseModel):
    """Options that all emulators have."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    emulator: ClassVar[str]
    """Its name, for messages."""

    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 0
    """0: any free port."""
    password: str | None = None
    """Guards the control endpoints; demanded where the emulator listens beyond this machine."""

    @model_validator(mode="after")
    def _is_guarded(self) -> Self:
        if not _is_loopback(self.host) and not self.password:
            raise ValueError(
                f"host {self.host} is reachable from other machines: that needs a password "
                "(--password, or SCRIMMAGE_EMULATOR_PASSWORD)"
            )
        return self

    @classmethod
    def of(cls, values: Mapping[str, object]) -> Self:
        """Options from plain values. Raises UsageError that names the option and what was wrong."""
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            rows = error.errors(include_url=False, include_input=False, include_context=False)
            text = "; ".join(
                ": ".join([*(str(part) for part in row["loc"]), row["msg"].removeprefix("Value error, ")])
                for row in rows
            )
            raise UsageError(f"emulate {cls.emulator}: {text}") from None


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
