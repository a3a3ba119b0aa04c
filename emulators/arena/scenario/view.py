"""A world rendered in one look: the files that tasks share, and where in them each fact stands."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

from emulators.arena.scenario import documents
from emulators.arena.scenario.effects import dump_containment
from emulators.arena.scenario.looks import Look
from emulators.arena.scenario.reckon import day_text
from emulators.arena.scenario.render.book import Cell, Formula, Sheet, column_letter, write_book
from emulators.arena.scenario.render.journal import Journal, JournalWriter, routine_events
from emulators.arena.scenario.render.paper import Paper, write_paper
from emulators.arena.scenario.render.picture import write_picture
from emulators.arena.scenario.render.prose import line_of, write_lines
from emulators.arena.scenario.render.records import RecordFormat, Row, write_records
from emulators.arena.scenario.render.sheaf import write_pdf
from emulators.arena.scenario.streams import stream
from emulators.arena.scenario.theme import Theme
from emulators.arena.scenario.world import DAY, DAYS, HOUR, Event, Message, World
from shared.models import JsonObject, Source

_NOISE_PER_DAY = 860
_CHATTER = 260


@dataclass
class View:
    """The files of a scenario by neutral name, and citations into them."""

    theme: Theme
    world: World
    look: Look
    files: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    texts: dict[str, list[str]] = field(default_factory=dict)
    papers: dict[str, Paper] = field(default_factory=dict)
    rows: dict[tuple[str, str, str], int] = field(default_factory=dict)
    days: list[tuple[str, Journal]] = field(default_factory=list)
    archive: Journal | None = None
    inbox: list[tuple[str, bytes]] = field(default_factory=list)
    asides: list[tuple[str, bytes]] = field(default_factory=list)
    stale: list[tuple[str, bytes]] = field(default_factory=list)
    image_texts: dict[str, str] = field(default_factory=dict)

    def record(self, name: str, record: str) -> Source:
        """A record of a register."""
        return Source(path=self.look.paths[name], record=record)

    def rule(self, rule: str) -> Source:
        """The line of a rule in /AGENTS.md."""
        return Source(path="/AGENTS.md", line=line_of(self.texts["agents_md"], f"**{rule}**"))

    def page(self, name: str, page: int) -> Source:
        """A page of a pdf."""
        return Source(path=self.look.paths[name], page=page)

    def paragraph(self, name: str, text: str) -> Source:
        """The paragraph of a paper that contains ``text``."""
        return Source(path=self.look.paths[name], paragraph=self.papers[name].number(text))

    def row(self, name: str, sheet: str, key: str) -> Source:
        """The row of a sheet that is about ``key``."""
        return Source(path=self.look.paths[name], sheet=sheet, row=self.rows[name, sheet, key])

    def image(self, name: str) -> Source:
        """An image."""
        return Source(path=self.look.paths[name])

    def message(self, message_id: str) -> Source:
        """A message of the export: by line where the export is text, else by record."""
        if self.look.formats["messages"] == "md":
            return Source(path=self.look.paths["messages"], line=line_of(self.texts["messages"], message_id))
        return self.record("messages", message_id)

    def event(self, event: Event) -> tuple[Source, ...]:
        """Where an event stands: in its daily file, in the archive, or in both."""
        places = [
            Source(path=path, line=journal.lines[event])
            for path, journal in self.days
            if event in journal.lines
        ]
        if self.archive is not None and event in self.archive.lines:
            places.append(Source(path=self.look.paths["archive"], line=self.archive.lines[event]))
        return tuple(places)


def render(theme: Theme, world: World, look: Look, seed: int, variation: int) -> View:
    """Write every shared file of the scenario."""

    def rng(part: str) -> random.Random:
        return stream(theme.name, seed, variation, "view", part)

    view = View(theme, world, look)
    _operator_files(view)
    _registers(view, rng("registers"))
    _stale_copies(view, rng("stale"))
    _transfers(view, rng("transfers"))
    _budget(view, rng("budget"))
    _papers(view, rng)
    _messages(view, rng("messages"))
    _screens(view, rng("screens"))
    _logs(view, rng)
    for name, lines in documents.asides(theme, world, rng("asides")):
        view.asides.append((f"{name}.{rng(name).choice(('md', 'txt'))}", write_lines(lines)))
    for name, lines in documents.inbox_noise(theme, world, look, rng("inbox")):
        view.inbox.append((f"{look.inbox}/{name}.{rng('suffix').choice(('txt', 'md'))}", write_lines(lines)))
    return view


def _put(view: View, name: str, data: bytes) -> None:
    view.files[name] = (view.look.paths[name], data)


def _put_text(view: View, name: str, lines: list[str]) -> None:
    view.texts[name] = lines
    view.files[name] = (view.look.paths.get(name, "/AGENTS.md"), write_lines(lines))


def _operator_files(view: View) -> None:
    theme, world, look = view.theme, view.world, view.look
    names = theme.names
    values = {
        "org": world.org,
        "domains_text": f"{names.mail_domain} and {names.partner_domain}",
        "zone": theme.zone,
        "offset": f"{theme.offset_hours:+03d}:00",
        "rotate_days": theme.rules.rotate_days,
        "at_log": look.log,
        "at_stale": look.stale,
        "s_corrections": theme.columns["budget"]["corrections"],
        "c_test": theme.columns["agents"]["test"],
        **{f"at_{name}": path for name, path in look.paths.items()},
        **{f"f_{name}": value for name, value in theme.fields.items()},
        **{f"a_{name}": value for name, value in theme.actions.items()},
    }
    values |= {f"s_{name}": value for name, value in theme.statuses.items()}
    for name, lines in theme.operator.items():
        _put_text(view, name, [line.format_map(values) for line in lines])


def _registers(view: View, rng: random.Random) -> None:
    for name, rows in register_rows(view.theme, view.world, view.look).items():
        rng.shuffle(rows)
        _put(view, name, write_records(rows, view.theme.columns[name], _record_format(view, name)))
    state: JsonObject = {
        "quarantined": [*view.world.quarantined],
        "revoked": [*[token.id for token in view.world.tokens if token.state == "revoked"][:3]],
        "rotated": [],
        "blocked": [*view.world.blocked],
        "notes": ["State taken over from the shift before."],
    }
    _put(view, "containment", dump_containment(state))


def _record_format(view: View, name: str) -> RecordFormat:
    return "json" if view.look.formats[name] == "json" else "csv"


def register_rows(theme: Theme, world: World, look: Look) -> dict[str, list[Row]]:
    """The rows of every register, by neutral column names."""
    state = theme.states
    yes = {True: state["yes"], False: state["no"]}
    return {
        "agents": [
            {
                "id": agent.id,
                "name": agent.name,
                "team": agent.team,
                "owner": agent.owner,
                "role": agent.role,
                "version": agent.version,
                "status": state["retired" if agent.retired else "active"],
                "retired": agent.retired.isoformat() if agent.retired else None,
                "test": yes[agent.test],
                "protected": yes[agent.protected],
            }
            for agent in world.agents
        ],
        "tokens": [
            {
                "id": token.id,
                "agent": token.agent,
                "scope": token.scope,
                "issued": token.issued.isoformat(),
                "expires": token.expires.isoformat(),
                "status": state[token.state],
                "revoked": look.moment(token.revoked_at) if token.revoked_at is not None else None,
                "replaces": token.replaces,
            }
            for token in world.tokens
        ],
        "delegations": [
            {
                "id": delegation.id,
                "giver": delegation.giver,
                "taker": delegation.taker,
                "scope": delegation.scope,
                "since": delegation.since.isoformat(),
                "ended": delegation.ended.isoformat() if delegation.ended else None,
            }
            for delegation in world.delegations
        ],
        "people": [
            {
                "id": person.id,
                "name": person.name,
                "team": person.team,
                "email": person.email,
                "phone": person.phone,
                "private": person.private_email,
            }
            for person in world.people
        ],
        "teams": [
            {"id": team.name, "mailbox": team.mailbox, "size": sum(a.team == team.name for a in world.agents)}
            for team in world.teams
        ],
        "incidents": [
            {
                "id": incident.id,
                "agent": incident.agent,
                "opened": look.moment(incident.opened),
                "state": state["closed" if incident.closed else "open"],
                "kind": incident.kind,
            }
            for incident in world.incidents
        ],
    }


def _stale_copies(view: View, rng: random.Random) -> None:
    """Old copies of two registers, in which owners, teams and states were others."""
    theme, world = view.theme, view.world
    rows = register_rows(theme, world, view.look)
    teams = [team.name for team in world.teams]
    agents: list[Row] = [
        {
            **row,
            "team": rng.choice(teams),
            "owner": rng.choice(world.people).id,
            "status": theme.states["active"],
        }
        for row in rows["agents"]
    ]
    tokens: list[Row] = [
        {**row, "agent": rng.choice(world.agents).id, "status": theme.states["active"], "replaces": None}
        for row in rows["tokens"][: len(rows["tokens"]) * 2 // 3]
    ]
    for name, old in (("agents", agents), ("tokens", tokens)):
        form: RecordFormat = rng.choice(("csv", "json"))
        day = day_text(world.start, -rng.randint(20, 60))
        stem = view.look.paths[name].rpartition("/")[2].partition(".")[0]
        path = f"{view.look.stale}/{stem}-{day}.{form}"
        view.stale.append((path, write_records(old, theme.columns[name], form)))


def _transfers(view: View, rng: random.Random) -> None:
    """The transfers' workbook: a list under a title, and last year's list on a hidden sheet."""
    columns, state = view.theme.columns["transfers"], view.theme.states
    transfers = list(view.world.transfers)
    rng.shuffle(transfers)
    name = view.theme.words["transfers"]

    def rows(shift: int) -> list[tuple[Cell, ...]]:
        return [
            (
                transfer.id,
                transfer.day - timedelta(days=shift),
                transfer.team,
                transfer.amount + shift,
                transfer.approvals,
                state["void" if transfer.void else "booked"],
            )
            for transfer in transfers
        ]

    title: list[tuple[Cell, ...]] = [(f"{name.capitalize()} of {view.world.org}",), ()]
    title = title if rng.random() < 0.5 else []
    body = [*title, tuple(columns.values()), *rows(0)]
    for number, row in enumerate(body, start=1):
        view.rows["transfers", name, str(row[0]) if row else ""] = number
    old = [tuple(columns.values()), *((f"OLD-{row[0]}", *row[1:]) for row in rows(365)[:40])]
    sheets = [Sheet(name, tuple(body)), Sheet("last year", tuple(old), hidden=True)]
    _put(view, "transfers", write_book(sheets, "ods" if view.look.formats["transfers"] == "ods" else "xlsx"))


def _budget(view: View, rng: random.Random) -> None:
    """The budget book: an overview under a merged header, and corrections on a hidden sheet."""
    columns = view.theme.columns["budget"]
    budgets = list(view.world.budgets)
    rng.shuffle(budgets)
    blank: list[tuple[Cell, ...]] = [()] * rng.randint(0, 2)
    overview: list[tuple[Cell, ...]] = [
        (f"{view.theme.words['budget'].capitalize()}, {view.world.org}", None, None, None, None, None),
        *blank,
        (None, None, "by month", None, None, None),
        tuple(columns[key] for key in ("team", "granted", "m1", "m2", "m3", "total")),
    ]
    merged = ((1, 1, 6), (len(overview) - 1, 3, 3))
    for budget in budgets:
        number = len(overview) + 1
        view.rows["budget", columns["sheet"], budget.team] = number
        total = Formula(f"SUM(C{number}:E{number})", sum(budget.spent))
        overview.append((budget.team, budget.granted, *budget.spent, total))
    first, last = len(overview) - len(budgets) + 1, len(overview)
    sums = [
        Formula(f"SUM({column_letter(place)}{first}:{column_letter(place)}{last})", value)
        for place, value in enumerate(
            (
                sum(budget.granted for budget in budgets),
                *(sum(budget.spent[month] for budget in budgets) for month in range(3)),
                sum(sum(budget.spent) for budget in budgets),
            ),
            start=2,
        )
    ]
    overview.append(("All", *sums))
    corrections: list[tuple[Cell, ...]] = [tuple(columns[key] for key in ("team", "correction", "reason"))]
    entries = [
        (budget.team, place, amount) for budget in budgets for place, amount in enumerate(budget.corrections)
    ]
    rng.shuffle(entries)
    for team, place, amount in entries:
        corrections.append((team, amount, rng.choice(("late invoice", "refund", "moved", "rounding"))))
        view.rows["budget", columns["corrections"], f"{team}#{place}"] = len(corrections)
    sheets = [
        Sheet(columns["sheet"], tuple(overview), merged=merged),
        Sheet(columns["corrections"], tuple(corrections), hidden=True),
        Sheet("remarks", (("Figures as of month's end.",), ("Rounded to whole euros.",))),
    ]
    _put(view, "budget", write_book(sheets, "ods" if view.look.formats["budget"] == "ods" else "xlsx"))


def _papers(view: View, rng: Callable[[str], random.Random]) -> None:
    theme, world, look = view.theme, view.world, view.look
    for name, make in (("handover", documents.handover), ("weekly", documents.weekly)):
        paper = make(theme, world, rng(name))
        view.papers[name] = paper
        _put(view, name, write_paper(paper, "odt" if look.formats[name] == "odt" else "docx"))
    for name, pages in (("advisory", documents.advisory), ("circular", documents.circular)):
        _put(
            view,
            name,
            write_pdf(f"{world.org}: {theme.words.get(name, name)}", pages(theme, world, rng(name))),
        )
    _put_text(view, "press", documents.press(theme, world, rng("press")))
    reports = documents.self_reports(theme, world, rng("selfreports"))
    if look.formats["selfreports"] == "json":
        data = json.dumps([{"id": agent, "statement": text} for agent, text in reports], indent=1)
        _put(view, "selfreports", data.encode() + b"\n")
    else:
        _put_text(
            view, "selfreports", ["# Statements", "", *(f"- {agent}: {text}" for agent, text in reports)]
        )


def _messages(view: View, rng: random.Random) -> None:
    """The channel: the messages that decide something, in a stream of chatter, by time."""
    theme, world, look = view.theme, view.world, view.look
    taken = {message.id for message in world.messages}
    authors = [person.name for person in world.people]
    messages = list(world.messages)
    numbers = (
        theme.ids.message.format(n=number) for number in rng.sample(range(1_000, 9_999), _CHATTER + 80)
    )
    for message_id in [message_id for message_id in numbers if message_id not in taken][:_CHATTER]:
        when = world.start + int(rng.random() * 6 * DAY)
        messages.append(Message(message_id, when, rng.choice(authors), documents.chatter(rng)))
    messages.sort(key=lambda message: message.when)
    columns = theme.columns["messages"]
    if look.formats["messages"] == "md":
        lines = [f"# {theme.words['channel'].capitalize()}", ""]
        lines += [f"[{m.id}] {look.moment(m.when)} {m.author}: {m.text}" for m in messages]
        _put_text(view, "messages", lines)
        return
    rows: list[Row] = [
        {"id": m.id, "when": look.moment(m.when), "author": m.author, "text": m.text} for m in messages
    ]
    _put(
        view,
        "messages",
        write_records(rows, columns, _record_format(view, "messages")),
    )


def _screens(view: View, rng: random.Random) -> None:
    theme, world, look = view.theme, view.world, view.look
    dark = rng.random() < 0.5
    shown = (
        ("queue", list(world.queues.items()), theme.words["queue"]),
        ("board", list(world.board.items()), theme.words["board"]),
    )
    for name, entries, title in shown:
        rng.shuffle(entries)
        lines = [f"{theme.words['unit'].upper():<12}{'NOW':>8}"]
        lines += [f"{agent:<12}{value!s:>8}" for agent, value in entries]
        caption = f"{title} - {day_text(world.start, 6)}"
        form = look.formats[name]
        data = write_picture(caption, lines, "jpg" if form == "jpg" else "png", dark=dark)
        _put(view, name, data)
        view.image_texts[name] = "\n".join([caption, *lines])


def _logs(view: View, rng: Callable[[str], random.Random]) -> None:
    """Daily files, and the archive before them in local time; routine noise in both."""
    theme, world, look = view.theme, view.world, view.look
    writer = JournalWriter(theme, rng("journal"), documents.INJECTIONS)
    noise = rng("noise")
    agents = [agent.id for agent in world.agents if not agent.retired]
    by_day: list[list[Event]] = [[] for _ in range(DAYS)]
    for event in world.events:
        by_day[(event.when - world.start) // DAY].append(event)
    for day, events in enumerate(by_day):
        first = world.start + day * DAY
        routine = routine_events(theme, noise, agents, first, DAY, _NOISE_PER_DAY)
        merged = sorted((*events, *routine), key=_by_time)
        view.days.append(
            (f"{look.log}/{day_text(world.start, day)}.jsonl", writer.write(merged, local=False, rng=noise))
        )
    first = world.start - DAY - theme.offset_hours * HOUR
    routine = routine_events(theme, noise, agents, first, world.start - first, _NOISE_PER_DAY // 2)
    merged = sorted((*world.archived, *routine), key=_by_time)
    view.archive = writer.write(merged, local=True, rng=noise)


def _by_time(event: Event) -> int:
    return event.when
