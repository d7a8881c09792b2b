"""`ChatSolver`: ask a chat model which option belongs in the blank."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from winosmith.chat import ChatError, ChatModel, Client, Messages, Reply
from winosmith.dataset import Dataset
from winosmith.errors import DataError
from winosmith.problem import Problem
from winosmith.records import canonical, problem_record
from winosmith.seen import Sees, check_pronouns, check_sees
from winosmith.solve._chat_answers import parse_answer
from winosmith.solve._chat_interview import Asked, Interview
from winosmith.solve._chat_prompt import INSTRUCTIONS, conversation, orders
from winosmith.solve._solver import Scores
from winosmith.solve._training import first_three

__all__ = ["ChatSolver"]

_TOP_TOKENS = 20
"""First tokens whose log-probabilities are asked for: the most that OpenAI's protocol allows."""


@dataclass(frozen=True)
class ChatSolver:
    """Asks a chat model for the option of each problem, and reads its free text.

    An option scores the share of the replies that mean it: 1 or 0 when a problem is asked once. A
    reply that isn't clear counts for all options alike, and is counted in `ask(…).unclear`; so is
    a problem whose two orders get contradicting replies left undecided.

    Attributes:
        model: a `chat.Client`, or anything that takes messages and returns a `chat.Reply`.
        shots: the solved problems that go before each problem; one tuple a draw, and each problem
            is asked once for each. Zero-shot is one empty draw.
        swap: also ask with the options in other places, against a liking for the first or last.
        scoring: "reply" reads the text. "logprobs" takes the probabilities of the options'
            numbers as the reply's first token, from a `chat.Client` whose server tells them.
        instruction: what every conversation begins with; what suits `sees` when None.
        sees: the blank; or the pronoun, set off by asterisks, and the question what it refers to.
        heard: a list to which everything is added that was asked and replied; it is in nobody's
            way and grows for ever, so a server has none.

    Raises:
        DataError: a shot has no answer or, where the pronoun is to be seen, none; or there is no
            draw.
        InputError: `sees` is none.

    >>> from winosmith import Problem, chat
    >>> solver = ChatSolver(lambda messages: chat.Reply("Option 2, of course."))
    >>> solver.score([Problem("a", "The cup hit the jug and the _ broke.", ("cup", "jug"))])
    [(0.0, 1.0)]
    """

    model: ChatModel
    shots: tuple[tuple[Problem, ...], ...] = ((),)
    swap: bool = False
    scoring: Literal["reply", "logprobs"] = "reply"
    instruction: str | None = None
    sees: Sees = "blank"
    heard: list[Asked] | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        check_sees(self.sees)
        if self.sees == "pronoun":
            check_pronouns([shot for draw in self.shots for shot in draw])
        if not self.shots:
            raise DataError("there is no draw of shots; zero-shot is one empty draw: ((),)")
        unsolved = [shot.id for draw in self.shots for shot in draw if shot.answer is None]
        if unsolved:
            raise DataError(f"{len(unsolved)} shots have no answer ({first_three(unsolved)})")
        if self.scoring == "logprobs" and not isinstance(self.model, Client):
            raise DataError("log-probabilities are told to a chat.Client only")

    @classmethod
    def with_shots(
        cls,
        model: ChatModel,
        train: Dataset,
        count: int = 30,
        *,
        draws: int = 1,
        seed: int = 0,
        **settings: Any,
    ) -> ChatSolver:
        """Return a solver whose prompt has solved problems, drawn at random.

        EvoGrad (2024, section 4.1) takes 30 of the training set. They stay the same for a whole
        run, so a server can keep what it read of them.

        Args:
            model: to ask.
            train: where to draw from; problems without an answer are passed over.
            count: how many.
            draws: how many times; the replies are votes.
            seed: of the draws.
            settings: as the attributes.

        Raises:
            DataError: too few problems have an answer.
        """
        solved = [problem for problem in train if problem.answer is not None]
        if not (0 < count <= len(solved) and draws > 0):
            raise DataError(
                f"{draws} times {count} shots can't be drawn from {len(solved)} problems with an "
                "answer"
            )
        rows = [
            np.random.default_rng([seed, draw]).permutation(len(solved))[:count]
            for draw in range(draws)
        ]
        drawn = tuple(tuple(solved[row] for row in draw) for draw in rows)
        return cls(model, drawn, **settings)

    @property
    def opening(self) -> str:
        """What every conversation begins with."""
        return INSTRUCTIONS[self.sees] if self.instruction is None else self.instruction

    @property
    def parameters(self) -> dict[str, Any]:
        """What determines the scores, for a signature; neither the server's address nor a key."""
        told: dict[str, Any] = {"solver": "chat", **getattr(self.model, "parameters", {})}
        told |= {"shots": len(self.shots[0]), "draws": len(self.shots), "swap": self.swap}
        told["sees"] = self.sees
        if any(self.shots):
            drawn = [[problem_record(shot) for shot in draw] for draw in self.shots]
            told["shots_digest"] = _digest(canonical({"shots": drawn}))
        if self.scoring != "reply":
            told["scoring"] = self.scoring
        if self.instruction is not None:
            told["instruction"] = _digest(self.instruction)
        return told

    def score(self, problems: Sequence[Problem]) -> Scores:
        """Return the mean score of each option over all that was asked; they sum to 1."""
        asked = self.ask(problems).asked
        each = len(asked) // max(1, len(problems))
        return [
            tuple(
                math.fsum(column) / each
                for column in zip(*(one.scores for one in asked[at : at + each]), strict=True)
            )
            for at in range(0, len(asked), each or 1)
        ]

    def ask(self, problems: Sequence[Problem]) -> Interview:
        """Ask about each problem, and return everything that was said.

        Raises:
            DataError: a problem is among the shots, and so is its answer; or a pronoun that is to
                be seen is not known.
            ChatError: as `chat.Client.ask`; or no log-probabilities are told.
        """
        self._check_unknown(problems)
        if self.sees == "pronoun":
            check_pronouns(problems)
        questions = list(self._questions(problems))
        replies = self._replies([messages for *_, messages in questions])
        asked = tuple(
            self._read(problem, draw, order, reply)
            for (problem, draw, order, _), reply in zip(questions, replies, strict=True)
        )
        if self.heard is not None:
            self.heard.extend(asked)
        return Interview(asked)

    def _questions(
        self, problems: Sequence[Problem]
    ) -> Iterator[tuple[Problem, int, tuple[int, ...], Messages]]:
        for problem in problems:
            for draw, shots in enumerate(self.shots):
                for order in orders(len(problem.options), swap=self.swap):
                    messages = conversation(self.opening, shots, problem, order, self.sees)
                    yield problem, draw, order, messages

    def _replies(self, conversations: Sequence[Messages]) -> list[Reply]:
        if not isinstance(self.model, Client):
            return [self.model(messages) for messages in conversations]
        if self.scoring == "reply":
            return self.model.ask(conversations)
        also = {"logprobs": True, "top_logprobs": _TOP_TOKENS}
        return replace(self.model, extra={**also, **self.model.extra}).ask(conversations)

    def _read(self, problem: Problem, draw: int, order: tuple[int, ...], reply: Reply) -> Asked:
        if self.scoring == "logprobs":
            shown = _first_token_scores(reply, len(order))
            place = None if len(set(shown)) == 1 else shown.index(max(shown))
        else:
            options = [problem.options[option] for option in order]
            place = parse_answer(reply.text, options, problem.sentence)
            shown = [
                1 / len(order) if place is None else float(n == place) for n in range(len(order))
            ]
        scores = tuple(shown[order.index(option)] for option in range(len(order)))
        choice = None if place is None else order[place]
        return Asked(problem.id, draw, order, reply, choice, scores)

    def _check_unknown(self, problems: Sequence[Problem]) -> None:
        """Refuse to ask what the shots tell."""
        told = {shot.sentence for draw in self.shots for shot in draw}
        known = [problem.id for problem in problems if problem.sentence in told]
        if known:
            raise DataError(
                f"{len(known)} of the problems are among the shots, with their answers "
                f"({first_three(known)}); draw shots from other problems"
            )


def _first_token_scores(reply: Reply, options: int) -> list[float]:
    """Return the share that each option's number has of the first token's probability.

    A number that isn't among the tokens told is given the least that was told: it has no more.
    """
    if not reply.first_token:
        raise ChatError(
            "the server tells no log-probabilities; score by the reply instead (scoring='reply')"
        )
    tokens = [(token.strip(), math.exp(logprob)) for token, logprob in reply.first_token]
    found = [[p for token, p in tokens if token == str(n)] for n in range(1, options + 1)]
    if not any(found):
        return [1 / options] * options
    least = min(p for _, p in tokens)
    mass = [math.fsum(own) if own else least for own in found]
    return [own / math.fsum(mass) for own in mass]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
