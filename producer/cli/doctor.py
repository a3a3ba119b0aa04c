"""`scrimmage doctor`: each setting, where it came from, and what answers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Annotated

import typer
from pydantic import AliasChoices, SecretStr

from producer.cli.output import print_json, results, table
from producer.health import Check, checks
from shared.settings import Settings, fingerprint, without_secrets


def doctor(
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show each setting and where it came from (keys masked), and check what they lead to.

    Example: [bold]scrimmage doctor[/bold]
    """
    settings = Settings.load()
    rows = [(name, _shown(getattr(settings, name)), origin) for name, origin in _origins(settings)]
    found: list[Check] = list(checks(settings))
    if json:
        print_json(
            {
                "settings": [dict(zip(("name", "value", "from"), row, strict=True)) for row in rows],
                "checks": [{"what": check.what, "ok": check.ok, "detail": check.detail} for check in found],
            }
        )
    else:
        table(("setting", "value", "from"), rows)
        results.print()
        table(("check", "", "detail"), [(check.what, check.mark, check.detail) for check in found])
    if any(check.ok is False for check in found):
        raise typer.Exit(1)


def _shown(value: object) -> str:
    if value is None:
        return "not set"
    if isinstance(value, SecretStr):
        return f"set (fingerprint {fingerprint(value.get_secret_value())})"
    return without_secrets(str(value)) if "://" in str(value) else str(value)


def _origins(settings: Settings) -> Iterator[tuple[str, str]]:
    """(field, where its value came from) for every setting."""
    environment = {name.upper() for name in os.environ}
    written = _dotenv_names()
    for name, field in Settings.model_fields.items():
        alias = field.validation_alias
        names = (
            [str(choice) for choice in alias.choices]
            if isinstance(alias, AliasChoices)
            else [f"SCRIMMAGE_{name.upper()}"]
        )
        origin = next((f"environment {n.upper()}" for n in names if n.upper() in environment), None)
        origin = origin or next((f".env {n.upper()}" for n in names if n.upper() in written), None)
        yield name, origin or ("given" if name in settings.model_fields_set else "default")


def _dotenv_names() -> set[str]:
    from dotenv import dotenv_values

    return {name.upper() for name in dotenv_values(".env")}
