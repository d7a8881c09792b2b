"""`Interview`: everything that a chat model was asked and said, and how it went."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from winosmith.chat import Reply

__all__ = ["Asked", "Interview"]


@dataclass(frozen=True, slots=True)
class Asked:
    """One problem as it was asked once.

    Attributes:
        problem_id: which.
        draw: 0-based, of the shots that went before.
        order: the options as shown, by their indices in the problem.
        reply: what the model said.
        choice: the option that it means, by its index in the problem; None when that isn't clear.
        scores: one an option of the problem, which sum to 1; equal when the choice isn't clear.
    """

    problem_id: str
    draw: int
    order: tuple[int, ...]
    reply: Reply
    choice: int | None
    scores: tuple[float, ...]

    @property
    def place(self) -> int | None:
        """The 0-based place of the choice as shown; None when it isn't clear."""
        return None if self.choice is None else self.order.index(self.choice)


@dataclass(frozen=True)
class Interview:
    """Everything that was asked, problem by problem.

    Attributes:
        asked: of each problem its draws, and of each draw its orders.
    """

    asked: tuple[Asked, ...]

    @property
    def unclear(self) -> int:
        """Replies that mean no option, or more than one."""
        return sum(one.choice is None for one in self.asked)

    @property
    def cut_off(self) -> int:
        """Replies that were cut off at the most tokens; a higher `max_tokens` may mend them."""
        return sum(one.reply.finish == "length" for one in self.asked)

    @property
    def first_place(self) -> float | None:
        """The share of the clear replies that name the option shown first, 0-1; None of none."""
        places = [one.place for one in self.asked if one.place is not None]
        return sum(place == 0 for place in places) / len(places) if places else None

    @cached_property
    def _pairs(self) -> list[tuple[Asked, Asked]]:
        """The two orders of one question, where both replies are clear."""
        together: dict[tuple[str, int], list[Asked]] = defaultdict(list)
        for one in self.asked:
            together[one.problem_id, one.draw].append(one)
        return [
            (pair[0], pair[1])
            for pair in together.values()
            if len(pair) == 2 and all(one.choice is not None for one in pair)
        ]

    @property
    def position_bias(self) -> float | None:
        """The share of questions whose two replies name the same place, 0-1.

        The options changed places in between, so such replies follow the place, not the words.
        None when one order was asked alone.
        """
        if not self._pairs:
            return None
        return sum(one.place == other.place for one, other in self._pairs) / len(self._pairs)

    def summary(self) -> dict[str, Any]:
        """Return the figures for a report, as JSON can hold them."""
        replies = [one.reply for one in self.asked]
        counted = all(None not in (reply.tokens_in, reply.tokens_out) for reply in replies)
        return {
            "problems": len({one.problem_id for one in self.asked}),
            "replies": len(self.asked),
            "unclear": self.unclear,
            "unclear_rate": self.unclear / len(self.asked) if self.asked else None,
            "cut_off": self.cut_off,
            "first_place": self.first_place,
            "position_bias": self.position_bias,
            "tokens_in": sum(reply.tokens_in or 0 for reply in replies) if counted else None,
            "tokens_out": sum(reply.tokens_out or 0 for reply in replies) if counted else None,
        }
