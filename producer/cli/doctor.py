"""`scrimmage doctor`: each setting, where it came from, and what answers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from difflib import get_close_matches

import typer
from pydantic import AliasChoices, SecretStr

from producer.cli.ending import INCOMPLETE
from producer.cli.options import Json
from producer.cli.output import print_json, print_text, progress, table
from producer.health import Check, checks
from shared.settings import Settings, fingerprint, without_secrets


def doctor(json: Json = False) -> None:
    """Show each setting and where it came from (keys masked), and check what they lead to.

    Example: [bold]scrimmage doctor[/bold]
    """
    settings = Settings.load()
    rows = [(name, _shown(getattr(settings, name)), origin) for name, origin in _origins(settings)]
    with progress.status("asking what the settings lead to"):
        found: list[Check] = [*_misspelt(), *checks(settings)]
    code = INCOMPLETE if any(check.ok is False for check in found) else 0
    if json:
        print_json(
            {
                "settings": [dict(zip(("name", "value", "from"), row, strict=True)) for row in rows],
                "checks": [{"what": check.what, "ok": check.ok, "detail": check.detail} for check in found],
            },
            code,
        )
    else:
        table(("setting", "value", "from"), rows)
        print_text()
        table(("check", "", "detail"), [(check.what, check.mark, check.detail) for check in found])
    if code:
        raise typer.Exit(code)


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
    for name in Settings.model_fields:
        names = _variables(name)
        origin = next((f"environment {n.upper()}" for n in names if n.upper() in environment), None)
        origin = origin or next((f".env {n.upper()}" for n in names if n.upper() in written), None)
        yield name, origin or ("given" if name in settings.model_fields_set else "default")


def _variables(name: str) -> list[str]:
    """The variables that a setting is read from."""
    alias = Settings.model_fields[name].validation_alias
    if isinstance(alias, AliasChoices):
        return [str(choice) for choice in alias.choices]
    return [f"SCRIMMAGE_{name.upper()}"]


def _misspelt() -> Iterator[Check]:
    """Variables that look like settings and are none: nothing reads them, so nothing else would complain."""
    known = sorted({each.upper() for name in Settings.model_fields for each in _variables(name)})
    for name in sorted({name.upper() for name in os.environ} | _dotenv_names()):
        if name.startswith("SCRIMMAGE_") and name not in known:
            for meant in get_close_matches(name, known, n=1, cutoff=0.85):
                yield Check("settings", False, f"{name} is not read; do you mean {meant}?")


def _dotenv_names() -> set[str]:
    from dotenv import dotenv_values

    return {name.upper() for name in dotenv_values(".env")}
