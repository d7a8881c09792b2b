"""Which text a question is about: several questions may be asked about one."""

from __future__ import annotations

from winosmith.problem import BLANK, Problem

__all__ = ["text_of"]


def text_of(problem: Problem) -> str:
    """Return the text with its pronoun back in place of the blank, its white space tidy.

    Two pronouns of one text give two problems with one text (Davis et al. 2016, section 1).

    >>> text_of(Problem("1", "The cup hit the jug and _  broke.", ("cup", "jug"), 0, pronoun="it"))
    'The cup hit the jug and it broke.'
    """
    return " ".join(problem.sentence.replace(BLANK, problem.pronoun or BLANK, 1).split())
