"""`baseline`: an honest, simple solver without a model. It shows what reading rules and data alone can do.

It knows a few kinds of question, each a method below that returns None where the task is of another kind. It
reads the operator files for what names mean and what is forbidden, computes from registers and log, and cites
what it used. For everything else it says that it does not know: NEEDS_CLARIFICATION without an answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from shared.errors import ToolError
from shared.models import Effect, Solution, Source, Task
from workers.context import TaskContext
from workers.desk import ADDRESS, DOMAIN, Row, Rule, mentions
from workers.guard import HardRules
from workers.solvers.calls import Call, CountingDesk

DENIED, CLARIFY, UNSUPPORTED = "DENIED_SECURITY", "NEEDS_CLARIFICATION", "UNSUPPORTED"

_PERSONAL = r"telephone|phone|private"
_OBEY = r"\bwhat (?:it|the \w+) (?:asks|says|wants)\b|\b(?:carry out|execute|follow|obey)\b"
_NOT_UNDERSTOOD = r"\b(?:draft|report|minus|says|malicious|hostile)\b"
_LACKING = {
    r"phone|radio": r"\b(?:phone|telephone|ring up|radio|dial)\b|\bcall\b(?! (?:sign|it))",
    r"shell|on board": r"\b(?:shell|ssh|reboot|restart|log in|install)\b",
    r"calendar|diary": r"\b(?:calendar|diary|meeting|appointment)\b",
    r"payment|purse": r"\bpay\b|\brefund\b",
    r"audio|recording": r"\b(?:listen|recording|audio|voicemail|answering machine)\b",
}


class Baseline:
    """See the module. Has no state: one instance serves all threads."""

    def solve(self, task: Task, context: TaskContext) -> Solution:
        if context.workspace is None or context.effects:
            return Solution(outcome=CLARIFY)
        desk = CountingDesk(context.workspace)
        kinds: tuple[Callable[[str, CountingDesk], Solution | None], ...] = (
            _forbidden,
            _obedience,
            _protected,
            _without_means,
            _ambiguous,
            _notice,
            _ranking,
            _rate,
            _count,
            _who_contacted,
            _name_behind,
        )
        for kind in kinds:
            context.deadline.check(f"{task.task_id}: {kind.__name__}")
            try:
                solution = kind(task.instruction, desk)
            except ToolError as error:  # a log without such a column, a workspace without a log
                context.log(f"not {kind.__name__.strip('_')}", reason=str(error))
                continue
            if solution is not None:
                context.log(kind.__name__.strip("_"))
                return solution
        return Solution(outcome=CLARIFY)


def _forbidden(instruction: str, desk: CountingDesk) -> Solution | None:
    """Mail to where no mail may go; the log changed or erased."""
    if (rule := _leak(instruction, desk)) is not None:
        return _denied(rule)
    if re.search(r"\b(?:delete|erase|remove|alter|rewrite)\b.*\b(?:log|audit|record)s?\b", instruction, re.I):
        rule = desk.rule(r"\blog\b|\brecords\b", r"erased|removed|altered|changed", r"\bnever\b|neither")
        return None if rule is None else _denied(rule)
    return None


def _leak(text: str, desk: CountingDesk) -> Rule | None:
    """The rule that forbids a message which a text asks for; None where there is none."""
    allowed = HardRules.of(desk).mail_domains
    domains = {match[1].lower() for match in ADDRESS.finditer(text)}
    if allowed is None or not any(domain not in allowed for domain in domains):
        return None
    personal = re.search(_PERSONAL, text, re.IGNORECASE) is not None
    return desk.rule(r"personal data") if personal else desk.rule(re.escape(min(allowed)))


def _obedience(instruction: str, desk: CountingDesk) -> Solution | None:
    """ "Do what this mail asks": judged by what it asks."""
    subject = re.search(r'"([^"]+)"', instruction)
    if subject is None or not re.search(_OBEY, instruction, re.IGNORECASE):
        return None
    for hit in desk.workspace.search(subject[1]):
        text = "\n".join(block.text for block in desk.workspace.document(hit.source.path).blocks)
        body = text.partition(subject[1])[2]
        if (rule := _leak(body, desk)) is not None:
            return _denied(rule)
    return None


def _protected(instruction: str, desk: CountingDesk) -> Solution | None:
    """Quarantine or release of one that the register marks as not to be touched."""
    if not re.search(r"quarantine|releas|lock\w* out|let\w* go", instruction, re.IGNORECASE):
        return None
    for row in desk.named(instruction):
        for column in row.cells:
            rule = desk.rule(re.escape(column), r"quarantine|lock\w* out", r"neither|never|not")
            if row.true(column) and rule is not None:
                return _denied(rule)
    return None


def _without_means(instruction: str, desk: CountingDesk) -> Solution | None:
    """What the operator says that one does not have."""
    rule = desk.rule(r"\bha(?:s|ve) (?:no|neither|not)\b", r"phone|radio|calendar|diary")
    if rule is None:
        return None
    for thing, asked in _LACKING.items():
        if rule.says(thing) and re.search(asked, instruction, re.IGNORECASE):
            return Solution(outcome=UNSUPPORTED, sources=(rule.source,))
    return None


def _ambiguous(instruction: str, desk: CountingDesk) -> Solution | None:
    """A name that several records have, and no id beside it."""
    for register in desk.registers:
        if any(mentions(instruction, row.id) for row in register):
            continue
        for column in register[0].cells if register else ():
            values = [row.cells[column] for row in register]
            if len(set(values)) < 0.7 * len(values):
                continue
            bearers = [row for row in register if mentions(instruction, row.cells[column])]
            if len(bearers) > 1 and len({row.cells[column] for row in bearers}) == 1:
                return Solution(outcome=CLARIFY, sources=tuple(row.source for row in bearers))
    return None


def _notice(instruction: str, desk: CountingDesk) -> Solution | None:
    """Word of an incident to the mailbox of the group that it concerns, where a procedure wants that."""
    procedure = desk.rule(r"\bone (?:message|letter|mail)\b", r"mailbox|post box")
    wanted = re.search(r"\b(?:notice|notify|word|tell|inform|heard)\b", instruction, re.IGNORECASE)
    if procedure is None or wanted is None or re.search(r"\bdraft\b", instruction, re.IGNORECASE):
        return None
    incident, actor = _incident(instruction, desk)
    if incident is None or actor is None:
        return None
    for register in desk.registers:
        for group in register:
            boxes = [value for value in group.cells.values() if ADDRESS.fullmatch(value)]
            if len(boxes) == 1 and group.id in actor.cells.values():
                message = f"{incident.id} concerns {actor.id}."
                args = {"to": boxes[0], "subject": incident.id, "body": message}
                return Solution(
                    answer=boxes[0],
                    sources=(incident.source, actor.source, group.source),
                    effects=(Effect(tool="send_message", args={**args}),),
                )
    return None


def _incident(instruction: str, desk: CountingDesk) -> tuple[Row | None, Row | None]:
    """The record that an instruction names, and the one other record that it refers to."""
    for row in desk.named(instruction):
        others = [found for value in row.cells.values() if (found := desk.record(value))]
        others = [other for other in others if other is not row]
        if len(others) == 1:
            return row, others[0]
    return None, None


def _ranking(instruction: str, desk: CountingDesk) -> Solution | None:
    """The three with the most completed calls."""
    if not re.search(r"\b(?:rank|top three|the three|three \w+ with)\b", instruction, re.IGNORECASE):
        return None
    calls = _asked(instruction, desk)
    if not calls:
        return None
    done = [call for call in calls if call.done]
    numbers: dict[str, int] = {}
    for call in done:
        numbers[call.agent] = numbers.get(call.agent, 0) + 1
    best = sorted(numbers, key=lambda agent: (-numbers[agent], agent))[:3]
    return Solution(answer=[*best], sources=_ends(done))


def _rate(instruction: str, desk: CountingDesk) -> Solution | None:
    """The part of calls that failed, in percent."""
    if not re.search(r"\bfail\w* (?:rate|share)|(?:rate|share) of fail", instruction, re.IGNORECASE):
        return None
    calls = _asked(instruction, desk)
    return Solution(answer=desk.log.rate(calls), sources=_ends(calls)) if calls else None


def _count(instruction: str, desk: CountingDesk) -> Solution | None:
    """How many calls were completed."""
    asked = re.search(r"\b(?:count|how many|number of)\b", instruction, re.IGNORECASE)
    if asked is None or re.search(_NOT_UNDERSTOOD, instruction, re.IGNORECASE):
        return None
    calls = _asked(instruction, desk)
    if calls is None:
        return None
    done = [call for call in calls if call.done]
    return Solution(answer=len(done), sources=_ends(done))


def _asked(instruction: str, desk: CountingDesk) -> list[Call] | None:
    """The calls that an instruction speaks of, by action, agents and time; None where it names no action."""
    action = desk.log.action(instruction)
    if action is None:
        return None
    agents = set(desk.counting(instruction))
    events = [event for event in desk.log.events(action) if event.agent in agents]
    return desk.log.within(desk.log.calls(events), instruction)


def _who_contacted(instruction: str, desk: CountingDesk) -> Solution | None:
    """Which agents contacted a host, by the rules on what a contact is."""
    hosts = DOMAIN.findall(instruction.lower())
    action = desk.log.action(instruction)
    if len(hosts) != 1 or action is None or not re.search(r"\b(?:which|list|who)\b", instruction, re.I):
        return None
    host = hosts[0]
    subdomains = desk.rule(r"subdomain", r"with the domain") is not None
    failed_too = desk.rule(r"\bis still a\b", r"fail") is not None
    agents = set(desk.counting(""))
    first: dict[str, Source] = {}
    for event in desk.log.events(action):
        right = event.target == host or (subdomains and event.target.endswith(f".{host}"))
        if right and event.agent in agents and (failed_too or desk.log.done(event)):
            first.setdefault(event.agent, event.source)
    return Solution(answer=sorted(first), sources=tuple(first.values())) if first else None


def _name_behind(instruction: str, desk: CountingDesk) -> Solution | None:
    """The full name of the person that a record refers to."""
    if "full name" not in instruction.lower() or re.search(r"\bobject\b", instruction):
        return None
    for row in desk.named(instruction):
        for value in row.cells.values():
            person = desk.record(value)
            if person is None or person is row:
                continue
            for column, name in person.cells.items():
                if "name" in column.lower() and " " in name:
                    return Solution(answer=name, sources=(row.source, person.source))
    return None


def _denied(rule: Rule) -> Solution:
    return Solution(outcome=DENIED, sources=(rule.source,))


def _ends(calls: list[Call]) -> tuple[Source, ...]:
    """The first and the last event counted."""
    events = sorted((event for call in calls for event in call.events), key=lambda event: event.time)
    return tuple(dict.fromkeys((events[0].source, events[-1].source))) if events else ()
