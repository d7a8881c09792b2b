"""What a solver sees of a problem: the blank, or the pronoun that the blank replaced.

With the blank, options are filled in and the pronoun is hidden: two versions of a sentence that
differ in nothing but the pronoun, as in Winogender, are then one and the same input. With the
pronoun, the sentence stays as it was written, and what is asked is whom the pronoun refers to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal, get_args

from winosmith.errors import DataError, InputError
from winosmith.problem import BLANK, Problem
from winosmith.text import local_context

__all__ = [
    "Input",
    "Sees",
    "check_pronouns",
    "check_sees",
    "differ_in_pronoun",
    "inputs",
    "with_pronoun",
]

Sees = Literal["blank", "pronoun"]
"""What stands in the sentence where the answer belongs; see the module."""

Input = tuple[str, frozenset[str]]
"""All of a problem that can bear on its answer: the sentence as it is seen, and the options."""

MOST_COPIES = 0.5
"""From this share of problems with a version that differs in nothing but the pronoun, the pronoun
is what a data set is about. Winogender has 95 %, the WSC, DPR, KnowRef and the PDPs none."""


def check_sees(sees: str) -> None:
    """Refuse what is neither "blank" nor "pronoun", with InputError."""
    if sees not in get_args(Sees):
        raise InputError(f"a solver sees one of {', '.join(get_args(Sees))}; not {sees!r}")


def check_pronouns(problems: Sequence[Problem]) -> None:
    """Refuse problems whose pronoun is not known, with a DataError that names the first three."""
    without = [problem.id for problem in problems if not (problem.pronoun or "").strip()]
    if without:
        named = ", ".join(map(repr, without[:3])) + (", …" if len(without) > 3 else "")
        raise DataError(
            f"the pronoun of {len(without):,} of {len(problems):,} problems is not known "
            f"({named}), so no solver can see it; let it see the blank (--sees blank)"
        )


def with_pronoun(problem: Problem, mark: str = "") -> str:
    """Return the sentence with its pronoun in the blank's place, between two marks.

    Raises:
        DataError: the pronoun is not known.

    >>> nurse = Problem("1", "The nurse said that _ left.", ("nurse", "cook"), pronoun="she")
    >>> with_pronoun(nurse, "*")
    'The nurse said that *she* left.'
    """
    check_pronouns([problem])
    pronoun = (problem.pronoun or "").strip()
    return problem.sentence.replace(BLANK, f"{mark}{pronoun}{mark}", 1)


def inputs(problems: Sequence[Problem], sees: Sees, local: int | None = None) -> list[Input]:
    """Return what a solver is given of each problem, so that equal inputs can be found.

    White space and the order of the options make no difference. Where a pronoun is not known, the
    blank is seen.

    Args:
        problems: what is asked.
        sees: the blank, or the pronoun.
        local: the words ahead of the blank that the solver sees; None for all.

    >>> two = [Problem(g, "The nurse said _ left.", ("a", "b"), pronoun=g) for g in ("he", "she")]
    >>> len(set(inputs(two, "blank"))), len(set(inputs(two, "pronoun")))
    (1, 2)
    """
    found = []
    for problem in problems:
        text = problem.sentence if local is None else local_context(problem.sentence, local)
        if sees == "pronoun":
            text = text.replace(BLANK, (problem.pronoun or BLANK).strip().lower(), 1)
        options = frozenset(" ".join(option.split()) for option in problem.options)
        found.append((" ".join(text.split()), options))
    return found


def differ_in_pronoun(problems: Sequence[Problem]) -> bool:
    """Tell whether the pronoun is what a data set is about, as in Winogender and WinoBias.

    It is where at least half of the problems have a version that differs in nothing but the
    pronoun: to a solver that sees the blank such versions are the same.
    """
    if not all((problem.pronoun or "").strip() for problem in problems):
        return False
    seen = inputs(problems, "blank")
    distinct = Counter(
        blank for blank, _ in set(zip(seen, inputs(problems, "pronoun"), strict=True))
    )
    return 0 < MOST_COPIES * len(seen) <= sum(distinct[blank] > 1 for blank in seen)
