"""The solver `agent`: one call proposes a plan, code carries it out, checks it, and decides.

The way of a task::

    prompt → plan → carried out → checked → decided
               ↑____ what was wrong ___|     (a few times, by the level)
               ↑____ tool loop _________|     (within a budget)
    then the best that was found; without anything, what `baseline` makes of the task

The model never decides alone: outcome, citations, form and effects are what code has seen to be so.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from shared.errors import CapReached, DeadlinePassed, NotAuthorised, Refused, SettingsError, Unavailable
from shared.models import JsonObject, Solution, Source, Task
from shared.workspace.workspace import Workspace
from workers.context import TaskContext
from workers.desk import Desk
from workers.guard import Guard, HardRules, Request
from workers.model import Model, Reply, assistant, tool_result, user
from workers.solvers.agent import loop, prompt, vision
from workers.solvers.agent.checks import Judged, judge
from workers.solvers.agent.execute import Done, Execution, Means, StepFailed
from workers.solvers.agent.plan import BadPlan, Outcome, Plan, parse, proposed, schema
from workers.solvers.agent.policy import Policy
from workers.solvers.agent.prompt import Prompt
from workers.solvers.baseline import Baseline

MOST_RUNS = 8
"""Prompts of so many runs are kept in a process."""

LAST_SECONDS = 8.0
"""With less time left no further model call is begun: what is there is submitted."""

LAST_WORD = 40.0
"""Seconds before a run's end from which a model that is away is waited for no more: all tasks that waited are
then played at the same time, and each must still have its turn."""

MOST_ROOM = 4
"""An answer that was cut off gets up to so many times the length of a plan."""


class Agent:
    """See the module. One instance serves all threads; what belongs to a task lives in ``Solving``.

    Args:
        policy: how much effort a task gets; None: that of this machine's settings.
    """

    def __init__(self, policy: Policy | None = None) -> None:
        self.policy = policy or Policy.load()
        self._prompts: OrderedDict[str, Prompt] = OrderedDict()
        self._making = threading.Lock()

    def solve(self, task: Task, context: TaskContext) -> Solution:
        if context.workspace is None or context.model is None:
            context.log("no model or no files: baseline")
            return self.fallback(task, context)
        solution = Solving(self, task, context, context.workspace, context.model).solve()
        return self.fallback(task, context) if solution is None else solution

    def fallback(self, task: Task, context: TaskContext) -> Solution:
        """What is submitted where the model brought nothing at all."""
        return Baseline().solve(task, context)

    def judge(self, plan: Plan, done: Done, request: Request) -> Judged:
        """Check what came of a plan; override it to check more."""
        return judge(plan, done, request)

    def prompt(self, task: Task, context: TaskContext) -> Prompt:
        """The common beginning of a run's prompts, made once per process; equal in every process."""
        with self._making:
            made = self._prompts.get(task.run_id)
            if made is None:
                library = context.library or context.workspace
                assert library is not None, "asked for where there are files"
                made = self._prompts[task.run_id] = Prompt(library)
            self._prompts.move_to_end(task.run_id)
            while len(self._prompts) > MOST_RUNS:
                self._prompts.popitem(last=False)
            return made


@dataclass(frozen=True)
class Candidate:
    """A plan, what came of it, and what was found against it; ``judged`` is None where it did not run."""

    plan: Plan
    done: Done
    judged: Judged | None = None

    @property
    def standing(self) -> tuple[bool, int]:
        """The larger the better."""
        if self.judged is None:
            return False, -1000
        return not self.judged.wrong, -len(self.judged.findings)

    def same(self, other: Candidate | None) -> bool:
        """Both come to the same decision."""
        return (
            other is not None
            and other.judged is not None
            and self.judged is not None
            and (self.plan.outcome, self.done.answer, self.judged.effects)
            == (other.plan.outcome, other.done.answer, other.judged.effects)
        )


class Solving:
    """One task being solved."""

    def __init__(
        self, agent: Agent, task: Task, context: TaskContext, workspace: Workspace, model: Model
    ) -> None:
        self._agent = agent
        self._task = task
        self._context = context
        self._workspace = workspace
        self._model = model
        self._effort = agent.policy.effort(task.level)
        self._best: Candidate | None = None
        self._last: Candidate | None = None
        self._readings = self._effort.readings
        self._room = self._effort.plan_tokens

    def solve(self) -> Solution | None:
        """The decision; None where nothing came of it."""
        common = self._agent.prompt(self._task, self._context)
        self._means = Means(
            self._workspace,
            self._context.tools,
            lambda path: vision.look(path, self._context),
            common.relations,
        )
        self._messages = common.messages(
            self._task, self._workspace, self._context.effects, self._agent.policy.excerpt_characters
        )
        try:
            if not self._plan():
                loop.explore(
                    self._messages,
                    lambda: self._ask("loop", loop.TOOLS),
                    self._means,
                    self._context,
                    self._effort,
                    self._settled,
                )
        except (Unavailable, NotAuthorised, SettingsError) as error:
            if not self._context.closing or self._context.deadline.left() > LAST_WORD:
                raise  # the task waits for the model and comes back
            self._context.log("no time left to wait for the model", reason=str(error))
        except (CapReached, DeadlinePassed, Refused) as error:
            self._context.log("no further model calls", reason=str(error))
        return self._decision()

    def _plan(self) -> bool:
        """Ask for a plan, and again with what was wrong with it. True where one stands."""
        rounds = 1 + self._effort.repairs
        while rounds > 0:
            reply = self._ask("repair" if self._last or len(self._messages) > 2 else "plan")
            before = self._readings
            if self._settled(reply):
                return True
            rounds -= before == self._readings
        return self._best is not None and self._best.standing[0]

    def _ask(self, label: str, tools: Sequence[JsonObject] = ()) -> Reply:
        """The model's next word in the conversation."""
        if self._context.deadline.left() < LAST_SECONDS:
            raise DeadlinePassed("too little time for another plan")
        reply = self._model.chat(
            self._messages, schema=schema(), tools=tools, max_tokens=self._room, label=label
        )
        if reply.finish == "length":
            self._room = min(2 * self._room, MOST_ROOM * self._effort.plan_tokens)
        return reply

    def _settled(self, reply: Reply) -> bool:
        """Take an answer of the model. True where its plan stands; else ``_messages`` say what is wrong."""
        try:
            plan = parse(proposed(reply))
        except BadPlan as error:
            cut = "the answer was cut off: be brief" if reply.finish == "length" else None
            return self._again(reply, cut or reply.refusal or str(error))
        if plan.read and self._readings:
            self._readings -= 1
            text = prompt.read(plan.read, self._workspace, self._agent.policy.read_characters)
            self._context.log("files read for the model", paths=plan.read)
            return self._again(reply, text)
        return self._consider(reply, plan)

    def _consider(self, reply: Reply, plan: Plan) -> bool:
        steps = [step.kind for step in plan.steps]
        self._context.log("plan", outcome=plan.outcome, reason=plan.reason, steps=steps)
        try:
            done = Execution(plan, self._means).run()
        except StepFailed as failed:
            self._keep(Candidate(plan, failed.done))
            return self._again(reply, str(failed))
        judged = self._agent.judge(plan, done, self._request)
        for refusal in judged.refusals:
            self._context.log("guard refuses", rule=refusal.rule, reason=refusal.reason)
        candidate = Candidate(plan, done, judged)
        confirmed = candidate.same(self._last) and not judged.wrong
        self._keep(candidate)
        if judged.broken is not None or not judged.findings or confirmed:
            self._best = candidate
            return True
        return self._again(reply, "\n".join(finding.text for finding in judged.findings))

    def _keep(self, candidate: Candidate) -> None:
        self._last = candidate
        if self._best is None or candidate.standing >= self._best.standing:
            self._best = candidate

    def _again(self, reply: Reply, wrong: str) -> bool:
        self._context.log("back to the model", why=wrong)
        self._messages += [
            assistant(reply),
            *(tool_result(call, "not carried out") for call in reply.tool_calls),
            user(f"{wrong}\n\nAnswer with a whole plan again; if all was right, with the same."),
        ]
        return False

    @cached_property
    def _request(self) -> Request:
        desk = Desk(self._workspace)
        return Request(self._task.instruction, desk, Guard(lambda: HardRules.of(desk)))

    def _decision(self) -> Solution | None:
        best = self._best
        if best is None:
            return None
        if best.judged is None:
            answer = best.done.answer
            return None if answer is None else Solution(answer=answer, sources=self._true(best.done.sources))
        if (broken := best.judged.broken) is not None:
            self._context.log("denied", rule=broken.rule, reason=broken.reason)
            cited = (broken.source,) if broken.source else ()
            return Solution(outcome=Outcome.DENIED, sources=self._true(cited))
        sources = self._true(best.done.sources)
        if best.plan.outcome is not Outcome.OK:
            return Solution(outcome=best.plan.outcome, sources=sources)
        return Solution(answer=best.done.answer, sources=sources, effects=best.judged.effects)

    def _true(self, sources: tuple[Source, ...]) -> tuple[Source, ...]:
        return self._workspace.check_sources(sources).sources
