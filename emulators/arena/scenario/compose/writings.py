"""Papers, messages, mail and asides."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

from emulators.arena.scenario import documents
from emulators.arena.scenario.compose.registers import record_format
from emulators.arena.scenario.render.paper import write_paper
from emulators.arena.scenario.render.prose import write_lines
from emulators.arena.scenario.render.records import Row, write_records
from emulators.arena.scenario.render.sheaf import write_pdf
from emulators.arena.scenario.view import View
from emulators.arena.scenario.world import DAY, Message

_CHATTER = 260


def write_papers(view: View, rng: Callable[[str], random.Random]) -> None:
    """Handover notes, weekly report, advisory, circular, press and self-reports."""
    theme, world, look = view.theme, view.world, view.look
    for name, make in (("handover", documents.handover), ("weekly", documents.weekly)):
        paper = make(theme, world, rng(name))
        view.papers[name] = paper
        view.put(name, write_paper(paper, "odt" if look.formats[name] == "odt" else "docx"))
    for name, pages in (("advisory", documents.advisory), ("circular", documents.circular)):
        view.put(
            name,
            write_pdf(f"{world.org}: {theme.words.get(name, name)}", pages(theme, world, rng(name))),
        )
    view.put_text("press", documents.press(theme, world, rng("press")))
    reports = documents.self_reports(theme, world, rng("selfreports"))
    if look.formats["selfreports"] == "json":
        data = json.dumps([{"id": agent, "statement": text} for agent, text in reports], indent=1)
        view.put("selfreports", data.encode() + b"\n")
    else:
        view.put_text("selfreports", ["# Statements", "", *(f"- {agent}: {text}" for agent, text in reports)])


def write_messages(view: View, rng: random.Random) -> None:
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
        view.put_text("messages", lines)
        return
    rows: list[Row] = [
        {"id": m.id, "when": look.moment(m.when), "author": m.author, "text": m.text} for m in messages
    ]
    view.put(
        "messages",
        write_records(rows, columns, record_format(view.look, "messages")),
    )


def write_strays(view: View, rng: Callable[[str], random.Random]) -> None:
    """Mail that nobody needs, and papers of no standing."""
    for name, lines in documents.asides(view.theme, view.world, rng("asides")):
        view.asides.append((f"{name}.{rng(name).choice(('md', 'txt'))}", write_lines(lines)))
    suffix = rng("suffix").choice(("txt", "md"))
    for name, lines in documents.inbox_noise(view.theme, view.world, view.look, rng("inbox")):
        view.inbox.append((f"{view.look.inbox}/{name}.{suffix}", write_lines(lines)))
