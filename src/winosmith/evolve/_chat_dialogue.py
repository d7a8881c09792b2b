"""The dialogue in which a chat model perturbs a problem, as a machine of plain states."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from winosmith.chat import Message, Messages, Reply
from winosmith.errors import InputError, ProblemError
from winosmith.evolve._chat_check import Checked, Checker, same_sentence
from winosmith.evolve._chat_prompt import ANSWER, opening, request
from winosmith.evolve._chat_round import Round, correction
from winosmith.evolve._chat_rows import read_rows
from winosmith.problem import Problem

__all__ = ["BATCHES", "Dialogue", "Ending"]

BATCHES = (10, 10, 30, 30, 20)
"""How many rows are asked for in each turn; the accepted batches of EvoGrad (2024, A.1)."""

_TRIAL = 10
"""Rows asked for after a bad batch, "to see if it's okay" (EvoGrad 2024, A.1)."""

_FEWEST = 3
"""Rows asked for at least, however short the replies are."""

_SHOWN = 3
"""Kinds of faults that a message names."""


class Ending(NamedTuple):
    """Why a dialogue is over.

    Attributes:
        reason: "done"; "rounds" or "fruitless" when the model did not bring it about; "budget".
        message: for the user, with what to do.
    """

    reason: Literal["done", "rounds", "fruitless", "budget"]
    message: str


class Dialogue:
    """Asks for rows, checks them, says what was wrong, and asks again (EvoGrad 2024, A.1).

    As there, the model may ask questions before the first rows; the rules answer them.

    It talks to nobody: send `messages`, give the answer to `take`, and again, until it has
    `ended`. The same replies lead to the same problems.

    Attributes:
        parent: the problem to perturb, with two options and an answer.
        wanted: how many children are wanted.
        rounds: the turns so far.
        accepted: the children so far.
        ended: why it is over; None while it is not.

    Args:
        batches: how many rows are asked for in each turn; the last is for all further turns.
        distances: "correct" keeps a row whose distance is wrong, with the true one; "refuse"
            refuses it.
        changed: the most tokens that may change, as a share of the parent's.
        most_rounds: after so many turns it ends.
        fruitless: after so many turns in a row without an accepted row it ends.
        memory: how many turns back the model is shown, beside the first message; None for all.
        taken: problems whose sentences must not come again: the other half of a twin, other
            families.

    Raises:
        InputError: a setting that is out of its range.
        ProblemError: a problem with more than two options, or without an answer.

    >>> root = Problem("r", "Sue beat Sally because _ ran well.", ("Sue", "Sally"), 0)
    >>> dialogue = Dialogue(root, wanted=1)
    >>> row = '1,"Sue beat Sally although _ ran well.",Sue,Sally,2,2'
    >>> dialogue.take(Reply(row))[0].lineage.declared, dialogue.rounds[0].faults()
    (1, Counter({'distance': 1}))
    >>> dialogue.ended.message
    'all 1 wanted are accepted'
    """

    def __init__(
        self,
        parent: Problem,
        *,
        wanted: int = 100,
        batches: Sequence[int] = BATCHES,
        distances: Literal["correct", "refuse"] = "correct",
        changed: float = 0.6,
        most_rounds: int = 30,
        fruitless: int = 3,
        memory: int | None = None,
        taken: Iterable[Problem] = (),
    ):
        _check(wanted, batches, distances, changed, most_rounds, fruitless, memory)
        if len(parent.options) != 2 or parent.answer is None:
            raise ProblemError(
                f"{parent.id!r} has {len(parent.options)} options and "
                f"{'no' if parent.answer is None else 'an'} answer; the table that a chat model "
                "fills in needs 2 options and the answer"
            )
        self.parent = parent
        self.wanted = wanted
        self.batches = tuple(batches)
        self.most_rounds = most_rounds
        self.fruitless = fruitless
        self.memory = memory
        self.rounds: list[Round] = []
        self.accepted: list[Problem] = []
        self._stopped: Ending | None = None
        self._checker = Checker(parent, changed, distances)
        self._taken = {same_sentence(problem.sentence) for problem in taken}
        self._said = [Message("user", opening(parent, self.size))]

    @property
    def messages(self) -> Messages:
        """What to send next: the first message, and as many turns as the model is shown."""
        later = self._said[1:]
        shown = later if self.memory is None else later[-2 * self.memory :]
        return (self._said[0], *shown)

    @property
    def size(self) -> int:
        """How many rows are asked for in the turn that comes."""
        size = self.batches[min(len(self.rounds), len(self.batches) - 1)]
        if self.rounds:
            last = self.rounds[-1]
            faulty = sum(bool(row.faults) for row in last.rows)
            if not last.rows or 2 * faulty > len(last.rows):
                size = min(size, _TRIAL)
            if last.is_cut:
                size = min(size, max(_FEWEST, last.whole))
        return max(1, min(size, self.wanted - len(self.accepted)))

    @property
    def said(self) -> list[str]:
        """What the model was told, turn by turn; the last is not sent yet."""
        return [message.content for message in self._said if message.role == "user"]

    def take(self, reply: Reply, said: str | None = None) -> tuple[Problem, ...]:
        """Take the model's reply; return what was accepted from it.

        Args:
            reply: to the last of the messages.
            said: what that message was, where it was another: in a dialogue that goes on with
                other settings.
        """
        if said is not None:
            self._said[-1] = Message("user", said)
        taken = set(self._taken)
        rows: list[Checked] = []
        kept: list[Problem] = []
        for row in read_rows(reply):
            checked = self._checker.check(row, taken)
            rows.append(checked)
            if checked.problem and len(self.accepted) + len(kept) < self.wanted:
                taken.add(same_sentence(checked.sentence))
                kept.append(checked.problem)
        self._taken = taken
        self.rounds.append(Round(self.size, reply, tuple(rows), tuple(kept)))
        self.accepted += kept
        asks = len(self.rounds) == 1 and not rows and "?" in reply.text
        told = ANSWER if asks else correction(self.parent, self.rounds[-1], self.accepted)
        first = 1 + sum(len(done.rows) for done in self.rounds)
        self._said.append(Message("assistant", reply.text))
        self._said.append(Message("user", f"{told}\n\n{request(self.size, first)}"))
        return tuple(kept)

    def stop(self, reason: Literal["budget"], message: str) -> None:
        """End it for a reason that lies outside."""
        self._stopped = Ending(
            reason, f"{len(self.accepted)} of {self.wanted} are accepted; {message}"
        )

    @property
    def ended(self) -> Ending | None:
        """Why it is over; None while it is not."""
        have = len(self.accepted)
        if have >= self.wanted:
            return Ending("done", f"all {self.wanted} wanted are accepted")
        if self._stopped:
            return self._stopped
        recent = self.rounds[-self.fruitless :]
        if len(recent) == self.fruitless and not any(done.kept for done in recent):
            return Ending("fruitless", self._in_vain(recent))
        if len(self.rounds) >= self.most_rounds:
            return Ending(
                "rounds",
                f"{have} of {self.wanted} are accepted after {self.most_rounds} turns; allow more "
                "turns, or take a stronger model",
            )
        return None

    def faults(self) -> Counter[str]:
        """Return how often each fault occurred so far, the most frequent first."""
        found = sum((done.faults() for done in self.rounds), Counter[str]())
        return Counter(dict(found.most_common()))

    def _in_vain(self, recent: Sequence[Round]) -> str:
        what = "nothing acceptable" if not self.accepted else "nothing more that is acceptable"
        told = (
            f"{what} came in {len(recent)} turns ({len(self.accepted)} of {self.wanted} accepted)"
        )
        found = sum((done.faults() for done in recent), Counter[str]())
        if not any(done.rows for done in recent):
            why = "no reply had a row of the table"
        else:
            why = "most faults: " + ", ".join(
                f"{kind} {count}" for kind, count in found.most_common(_SHOWN)
            )
        return f"{told}; {why}. Take a stronger model, or look at what it says in the transcript"


def _check(
    wanted: int,
    batches: Sequence[int],
    distances: str,
    changed: float,
    most_rounds: int,
    fruitless: int,
    memory: int | None,
) -> None:
    named = {"wanted": wanted, "most_rounds": most_rounds, "fruitless": fruitless}
    for name, value in named.items():
        if value < 1:
            raise InputError(f"{name} must be 1 or more, not {value}")
    if not batches or min(batches) < 1:
        raise InputError(f"batches must be numbers of rows from 1 on, not {tuple(batches)}")
    if distances not in ("correct", "refuse"):
        raise InputError(f"distances must be 'correct' or 'refuse', not {distances!r}")
    if not 0 < changed <= 1:
        raise InputError(f"changed must be a share above 0, up to 1, not {changed}")
    if memory is not None and memory < 1:
        raise InputError(f"memory must be 1 turn or more, or None for all; not {memory}")
