"""Teams, their platform keys, and the final window that all share."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field

from starlette.types import Scope

from emulators.arena.options import ArenaOptions
from shared.errors import Refused


@dataclass
class Team:
    """One team. ``final_run_id`` is set once its final run was started."""

    team_id: str
    name: str
    key: str = field(repr=False)
    revoked: bool = False
    final_run_id: str | None = None


class Teams:
    """All teams, found by key."""

    def __init__(self, options: ArenaOptions) -> None:
        self._by_id: dict[str, Team] = {}
        self._by_key: dict[str, Team] = {}
        for number in range(1, options.teams + 1):
            if number <= len(options.keys):
                key = options.keys[number - 1]
            elif options.password:
                key = f"arena_{secrets.token_urlsafe(24)}"
            else:
                key = f"arena_team_{number}"
            team = Team(f"team-{number}", f"Team {number}", key)
            self._by_id[team.team_id] = team
            self._by_key[key] = team

    def all(self) -> list[Team]:
        return list(self._by_id.values())

    def get(self, team_id: str) -> Team:
        """The team of that id.

        Raises:
            Refused: 404, there is none.
        """
        if team_id not in self._by_id:
            raise Refused(f"no such team: {team_id[:80]}", status=404)
        return self._by_id[team_id]

    def of(self, scope: Scope) -> Team | None:
        """Whose key a request carries, revoked or not; None where it carries none that we know."""
        for name, value in scope["headers"]:
            if name == b"authorization":
                scheme, _, key = value.decode("latin-1").partition(" ")
                return self._by_key.get(key.strip()) if scheme.lower() == "bearer" else None
        return None

    def authorised(self, scope: Scope) -> Team:
        """The team that may make this request.

        Raises:
            Refused: 401, the key is missing, invalid or revoked.
        """
        team = self.of(scope)
        if team is None:
            given = any(name == b"authorization" for name, _ in scope["headers"])
            raise Refused("invalid API key" if given else "missing API key", status=401)
        if team.revoked:
            raise Refused("this API key was revoked", status=401)
        return team
