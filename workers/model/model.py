"""The chat model of one task: every call paced, paid within the caps, and noted in the transcript.

One call of ``chat`` may take several tries. Each try is a call of its own in the ledger: its estimate is
committed before it is made, and replaced by its cost when an answer came. A try whose answer was lost may
have been paid for, so its estimate stays.

========================================  ==========================  =====================================
what came back                            in the ledger               then
========================================  ==========================  =====================================
an answer                                 its cost                    the reply
an answer without content                 its cost                    again; after the last try Refused
429, 503, 529, as status or inside a 200  nothing                     all callers pause, concurrency is cut;
                                                                      again
other 5xx, no connection                  nothing                     again
408, 504, 524, time-out, connection lost  stays at the estimate       again
401, 402, 403                             nothing                     NotAuthorised
404                                       nothing                     SettingsError: no such model here
other 4xx                                 nothing                     Refused
========================================  ==========================  =====================================

After the last try the model counts as away (``Unavailable``): the task waits and loses no attempt. A request
that is turned down is first worded otherwise (``dialect``).
"""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable, Mapping, Sequence

from shared.deadline import Deadline
from shared.errors import CapReached, DeadlinePassed, Refused, SettingsError, Unavailable
from shared.models import JsonObject
from shared.platforms.retry import back_off
from shared.pool.ledger import Lease
from shared.pool.pacing import LONGEST_WAIT, Pacing
from shared.pool.replays import Replays
from shared.pool.spend import Caps, Spend, micro_dollars
from workers.model import json_text
from workers.model.completion import Completion
from workers.model.endpoint import Endpoint, Miss
from workers.model.prices import Price
from workers.model.reply import Reply
from workers.transcript import Transcript

TRIES = 5
"""With back-off some five seconds; an outage that lasts longer is waited for without holding a slot."""

FIRST_LOOK = 0.1
"""Seconds between two looks whether the first call under a cap has been answered."""

_LONGEST_NOTE = 2000


class Model:
    """``context.model``.

    Args:
        endpoint: where calls go, with the key of this kind of run.
        pacing: how many at a time, of the whole pool.
        spend: where they are paid.
        replays: answers to identical calls; None: every call is made.
        lease: whose task it is; its fence makes the calls of two leases different ones.
        deadline: of the task.
        transcript: every try is noted in it.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        pacing: Pacing,
        spend: Spend,
        replays: Replays | None,
        lease: Lease,
        deadline: Deadline,
        transcript: Transcript,
        *,
        sleep: Callable[[float], None] = time.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._endpoint = endpoint
        self._pacing = pacing
        self._spend = spend
        self._replays = replays
        self._lease = lease
        self._deadline = deadline
        self._transcript = transcript
        self._sleep = sleep
        self._chance = chance
        self._calls = itertools.count(1)
        asked = lease.request
        self._caps = Caps(*(_micro(usd) for usd in (asked.task_usd, asked.run_usd, asked.sweep_usd)))

    @property
    def name(self) -> str:
        """The model's name at its endpoint."""
        return self._endpoint.model

    def chat(
        self,
        messages: Sequence[JsonObject],
        *,
        schema: Mapping[str, object] | None = None,
        tools: Sequence[JsonObject] = (),
        max_tokens: int = 2000,
        label: str = "chat",
    ) -> Reply:
        """Ask the model, with temperature 0 and a fixed seed.

        Args:
            messages: see ``workers.model.messages``. What is the same for every task belongs at the
                beginning, byte for byte: endpoints bill a repeated beginning at a fraction.
            schema: JSON schema of the answer wanted; the reply's ``parsed`` is then the JSON in it.
            tools: that the model may ask for (``workers.model.tool``).
            max_tokens: of the answer.
            label: names the call in the transcript.

        Returns:
            An answer with text, tool calls, or a refusal in it; with none of them where ``max_tokens`` were
            too few for it to begin (``finish`` is ``length``).

        Raises:
            CapReached: the call's estimate does not fit under a cap; nothing was spent.
            Unavailable: no usable answer after all tries, or before the deadline; let it pass through.
            NotAuthorised, SettingsError: key or model are not accepted; let them pass through.
            Refused: the endpoint rejects this very request, or answers it without content again and again.
            DeadlinePassed: no time was left to begin with.
        """
        body = self._endpoint.body(messages, schema, tools, max_tokens)
        reads_json = schema is not None
        asked = self._endpoint.url.encode() + body
        kept = self._replays.get(asked) if self._replays else None
        if kept is not None:
            completion = Completion.read(kept)
            self._note(label, completion, cost=0, replayed=True)
            return _reply(completion, reads_json, cost=0, replayed=True)
        self._deadline.check(f"the model call {label!r}")
        try:
            completion, cost, seconds = self._ask(body, label)
        except DeadlinePassed as error:
            raise Unavailable(f"the model did not answer in time: {error}") from error
        if self._replays:
            self._replays.put(asked, completion.raw)
        return _reply(completion, reads_json, cost=cost, seconds=seconds)

    def _ask(self, body: bytes, label: str) -> tuple[Completion, int, float]:
        miss = Miss("no try was made")
        for attempt in range(TRIES):
            try:
                return self._once(body, label)
            except Miss as caught:
                miss = caught
            if miss.after is not None and miss.after > LONGEST_WAIT:
                break
            if attempt + 1 < TRIES and not miss.overload:  # after an overload the pacing makes all wait
                pause = max(back_off(attempt, self._chance), miss.after or 0.0)
                self._sleep(min(pause, self._deadline.left()))
        if miss.completion is not None:  # it is there, it is paid, and has nothing to say
            raise Refused(f"the model {self.name} did not answer: {miss}")
        raise Unavailable(f"the model {self.name} did not answer: {miss}", after=miss.after)

    def _once(self, body: bytes, label: str) -> tuple[Completion, int, float]:
        """One try, in a slot of its own. Raises Miss where it brought nothing."""
        price = self._endpoint.price()
        estimate = price.estimate(body)
        with self._pacing.slot(self._deadline) as slot:
            call_id = self._reserve(estimate, label)
            began = time.monotonic()
            try:
                completion = self._endpoint.ask(body, self._deadline)
            except Miss as miss:
                if miss.overload:
                    slot.overloaded(str(miss), miss.after)
                if not miss.lost:
                    self._settle(call_id, miss.completion, price)
                self._transcript.add(
                    "model_missed", label=label, call=call_id, reason=str(miss), lost=miss.lost
                )
                raise
            except (Refused, SettingsError):
                self._settle(call_id, None, price)
                raise
            seconds = time.monotonic() - began
            slot.served()
        cost = self._settle(call_id, completion, price)
        self._note(label, completion, cost=cost, seconds=seconds, call=call_id)
        return completion, cost, seconds

    def _reserve(self, estimate: int, label: str) -> str:
        lease = self._lease
        call_id = f"{lease.task_id}/{lease.fence}/{next(self._calls)}"
        while (cap := self._spend.reserve(lease.ref, lease.task_id, call_id, estimate, self._caps)) == "wait":
            self._deadline.check(f"the model call {label!r}: the first one under a cap has no answer yet")
            self._sleep(FIRST_LOOK)
        if cap is not None:
            self._transcript.add("cap_reached", label=label, cap=cap, estimate_usd=estimate / 1e6)
            raise CapReached(
                f"the model call {label!r} may cost {estimate / 1e6:.6f} US dollars, which is more than what "
                f"is left under the cap of the {cap}"
            )
        return call_id

    def _settle(self, call_id: str, completion: Completion | None, price: Price) -> int:
        """Replace a call's estimate by its cost: nothing where the endpoint turned it down."""
        usage = completion.usage if completion else None
        cost = completion.cost(price) if completion else 0
        self._spend.settle(
            self._lease.ref,
            self._lease.task_id,
            call_id,
            cost,
            tokens_in=usage.tokens_in if usage else 0,
            tokens_cached=usage.tokens_cached if usage else 0,
            tokens_out=usage.tokens_out if usage else 0,
        )
        return cost

    def _note(self, label: str, completion: Completion, *, cost: int, **more: object) -> None:
        usage = completion.usage
        self._transcript.add(
            "model",
            label=label,
            model=completion.model or self.name,
            provider=completion.provider,
            tokens_in=usage.tokens_in,
            tokens_cached=usage.tokens_cached,
            tokens_out=usage.tokens_out,
            cost_usd=cost / 1e6,
            finish=completion.finish,
            text=completion.text[:_LONGEST_NOTE],
            tool_calls=[f"{call.name}({call.arguments})"[:_LONGEST_NOTE] for call in completion.tool_calls],
            **more,
        )


def _micro(usd: float | None) -> int | None:
    return None if usd is None else micro_dollars(usd)


def _reply(
    completion: Completion, reads_json: bool, *, cost: int, seconds: float = 0.0, replayed: bool = False
) -> Reply:
    return Reply(
        text=completion.text,
        parsed=json_text.find(completion.text) if reads_json else None,
        tool_calls=completion.tool_calls,
        refusal=completion.refusal,
        finish=completion.finish,
        usage=completion.usage,
        cost=cost,
        provider=completion.provider,
        seconds=round(seconds, 3),
        replayed=replayed,
    )
