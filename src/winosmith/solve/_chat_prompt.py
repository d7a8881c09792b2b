"""What a chat model is told and asked."""

from __future__ import annotations

from collections.abc import Sequence

from winosmith.chat import Message
from winosmith.problem import Problem
from winosmith.seen import Sees, with_pronoun

__all__ = ["INSTRUCTIONS", "conversation", "orders"]

INSTRUCTIONS: dict[Sees, str] = {
    "blank": """\
Each sentence below has one blank, written as an underscore (_). Choose the option that belongs \
in the blank, so that the sentence makes sense. Reply with the number of that option, and nothing \
else.""",
    "pronoun": """\
Each sentence below has one pronoun set off by asterisks, such as **she**. Choose the option that \
this pronoun refers to. Reply with the number of that option, and nothing else.""",
}
"""What every conversation begins with, by what the model sees; EvoGrad (2024, section 4.1) doesn't
print its own. With the pronoun the question is that of GPT-3's SuperGLUE-WSC (Brown et al. 2020,
appendix G)."""

Order = tuple[int, ...]
"""The options as they are shown: the index in the problem of each."""


def orders(options: int, *, swap: bool) -> tuple[Order, ...]:
    """Return the orders in which options are shown: the problem's own, and turned by one place.

    Two options change places. Of more, none stays in its place either, so whoever goes by the
    place never gives the same option twice.

    >>> orders(2, swap=True), orders(3, swap=True)
    (((0, 1), (1, 0)), ((0, 1, 2), (1, 2, 0)))
    """
    own = tuple(range(options))
    return (own, own[1:] + own[:1]) if swap else (own,)


def conversation(
    instruction: str,
    shots: Sequence[Problem],
    problem: Problem,
    order: Order,
    sees: Sees = "blank",
) -> tuple[Message, ...]:
    """Return the turns: the instruction, solved problems with their answers, and the problem.

    All but the last turn is the same for every problem, so a server can keep what it read. The
    instruction is part of the first turn, as some models know no system's part.
    """
    turns: list[Message] = []
    for shot in shots:
        if shot.answer is not None:
            turns.append(Message("user", _shown(shot, tuple(range(len(shot.options))), sees)))
            turns.append(Message("assistant", str(shot.answer + 1)))
    turns.append(Message("user", _shown(problem, order, sees)))
    first = Message("user", f"{instruction}\n\n{turns[0].content}")
    return (first, *turns[1:])


def _shown(problem: Problem, order: Order, sees: Sees) -> str:
    listed = (
        f"Option {number}: {problem.options[option].strip()}"
        for number, option in enumerate(order, 1)
    )
    if sees == "blank":
        return "\n".join((f"Sentence: {problem.sentence.strip()}", *listed))
    asked = f"What does the pronoun **{(problem.pronoun or '').strip()}** refer to?"
    sentence = with_pronoun(problem, "**").strip()
    return "\n".join((f"Sentence: {sentence}", f"Question: {asked}", *listed))
