"""`ChatPerturber`: a chat model writes perturbations, and a machine checks each one."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from winosmith.chat import BudgetError, ChatError, ChatModel, Client, Messages, Reply
from winosmith.evolve._chat_dialogue import BATCHES, Dialogue
from winosmith.evolve._chat_transcript import Transcript
from winosmith.problem import Problem

__all__ = ["REPLY_TOKENS", "ChatPerturber"]

REPLY_TOKENS = 4096
"""Tokens that a reply should be allowed: 30 rows of 20 words take some 1,500, thinking more."""


@dataclass(frozen=True)
class ChatPerturber:
    """Asks a chat model for perturbations of a problem, turn by turn (EvoGrad 2024, A.1).

    Each row of a reply is checked (`winosmith evolve --with chat --help`, and the guide to chat
    models name the faults); each turn tells what was wrong in the last one. A child's declared
    depth is its true token edit distance to a root. Its answer is what the model claims, so the
    child is marked as not validated until people have judged it.

    Attributes:
        model: a `chat.Client`, or anything that takes messages and returns a `chat.Reply`. Allow
            replies of `REPLY_TOKENS`: shorter ones are cut off, and make more turns.
        wanted: children of each problem.
        batches: how many rows are asked for in each turn; the last is for all further turns.
        distances: "correct" keeps a row whose distance is wrong, with the true one; "refuse"
            refuses it. The model is told in both cases.
        changed: the most tokens that may change, as a share of the problem's.
        most_rounds: turns about a problem at most.
        fruitless: turns in a row without an accepted row, after which a problem is given up.
        memory: how many turns back the model is shown, for those with little room; None for all.
        taken: problems whose sentences must not come again, such as all the roots: else a child of
            one half of a twin may be the other half.
        folder: where dialogues are kept, a folder each (`transcript.jsonl`, `transcript.md`,
            `accepted.jsonl`); the same call goes on from there. None keeps nothing.
        on_progress: called with the children accepted, how many are wanted, and a note.

    Warns:
        UserWarning: fewer children than wanted came about, with the reason and what to do.
    """

    model: ChatModel
    wanted: int = 100
    batches: Sequence[int] = BATCHES
    distances: Literal["correct", "refuse"] = "correct"
    changed: float = 0.6
    most_rounds: int = 30
    fruitless: int = 3
    memory: int | None = None
    taken: Sequence[Problem] = ()
    folder: str | Path | None = None
    on_progress: Callable[[int, int, str], None] | None = None

    def dialogue(self, problem: Problem) -> Dialogue:
        """Return a new dialogue about a problem, with these settings.

        Raises:
            InputError: a setting is out of its range.
            ProblemError: the problem has not two options, or no answer.
        """
        return Dialogue(
            problem,
            wanted=self.wanted,
            batches=self.batches,
            distances=self.distances,
            changed=self.changed,
            most_rounds=self.most_rounds,
            fruitless=self.fruitless,
            memory=self.memory,
            taken=self.taken,
        )

    def perturb(self, problem: Problem, seed: int) -> Iterator[Problem]:
        """Yield children of a problem as they are accepted.

        When the budget is used up, it ends with what was accepted.

        Args:
            problem: with two options and an answer.
            seed: asks a `chat.Client` for a draw of its own; see there.

        Raises:
            InputError: a setting is out of its range.
            ProblemError: the problem has not two options, or no answer.
            ChatError: the model can't be asked; what was accepted has been yielded, and is kept.
            OutputError: the folder can't be used.
        """
        dialogue = self.dialogue(problem)
        transcript = self._transcript(problem, seed)
        if transcript:
            transcript.resume(dialogue)
        self._tell(dialogue, "" if not dialogue.rounds else f"turn {len(dialogue.rounds)}, resumed")
        yield from dialogue.accepted
        while not dialogue.ended:
            try:
                reply = self._asked(dialogue.messages, seed)
            except BudgetError:
                dialogue.stop("budget", self._spent())
                break
            except ChatError as error:
                raise type(error)(self._interrupted(dialogue, error, transcript)) from error
            if transcript:
                transcript.add(dialogue.messages[-1], reply)
            accepted = dialogue.take(reply)
            if transcript:
                transcript.add_accepted(accepted)
                transcript.write_readable(dialogue)
            self._tell(dialogue, _turn(dialogue))
            yield from accepted
        self._end(dialogue, transcript)

    def _asked(self, messages: Messages, seed: int) -> Reply:
        if isinstance(self.model, Client):
            return self.model.ask([messages], draw=seed)[0]
        return self.model(messages)

    def _spent(self) -> str:
        told = "the budget has no room for another turn"
        if isinstance(self.model, Client) and self.model.budget is not None:
            spent = self.model.budget.spent
            told += f" ({spent.tokens_in:,} tokens in and {spent.tokens_out:,} out were spent)"
        return f"{told}; raise it, and the same call goes on"

    def _transcript(self, problem: Problem, seed: int) -> Transcript | None:
        if self.folder is None:
            return None
        return Transcript(
            Path(self.folder), problem, seed, dict(getattr(self.model, "parameters", {}))
        )

    def _tell(self, dialogue: Dialogue, note: str) -> None:
        if self.on_progress:
            self.on_progress(len(dialogue.accepted), self.wanted, note)

    def _interrupted(
        self, dialogue: Dialogue, error: ChatError, transcript: Transcript | None
    ) -> str:
        have = f"{len(dialogue.accepted)} of {self.wanted} children of {dialogue.parent.id!r}"
        if transcript is None:
            return f"{error}. {have} were accepted before"
        return f"{error}. {have} are kept in {transcript.folder}; the same call goes on from there"

    def _end(self, dialogue: Dialogue, transcript: Transcript | None) -> None:
        ended = dialogue.ended
        if ended is None:
            return
        self._tell(dialogue, ended.message)
        if transcript:
            transcript.write_readable(dialogue)
        if ended.reason != "done":
            where = f". All turns are kept in {transcript.folder}" if transcript else ""
            warnings.warn(f"{dialogue.parent.id}: {ended.message}{where}", stacklevel=3)


def _turn(dialogue: Dialogue) -> str:
    done = dialogue.rounds[-1]
    note = f"turn {len(dialogue.rounds)}: {len(done.kept)} of {len(done.rows)} rows accepted"
    faults = ", ".join(f"{kind} {count}" for kind, count in done.faults().items())
    return f"{note}; {faults}" if faults else note
