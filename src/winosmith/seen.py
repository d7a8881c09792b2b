"""The input that a solver sees: the sentence with the blank, or with the original pronoun.

With the blank, options are filled in and the pronoun is hidden. Sentences that differ only in the
pronoun, as in Winogender, are then the same input. With the pronoun, the sentence is unchanged, and
the question is whom the pronoun refers to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal, get_args

from winosmith.errors import DataError, InputError, join_ids
from winosmith.problem import BLANK, Problem
from winosmith.text import detect_script, get_local_context, split_units, tokenize

Sees = Literal["blank", "pronoun"]
"""Whether a solver sees the blank or the pronoun; see the module's docstring."""

Input = tuple[str, frozenset[str]]
"""A solver's input: the text that it sees, and the options."""

_BLANK_MARKERS = tuple(map(chr, range(0xE000, 0xF900)))
"""Private-use characters, one of which marks the blank if the text contains other `_`."""

MIN_VERSION_FRACTION = 0.5
"""Minimum fraction of problems with a version that differs only in the pronoun if a data set is to
count as one about pronouns. Winogender has 95 %; the WSC, DPR, KnowRef and the PDPs have none."""


def check_sees_value(sees: str) -> None:
    if sees not in get_args(Sees):
        raise InputError(f"unknown value {sees!r} of `sees`; use {' or '.join(get_args(Sees))}")


def check_blanks(
    problems: Iterable[Problem], subject: str, advice: str = "", *, unique: bool = False
) -> None:
    """Refuse problems without a blank, which are questions.

    Args:
        problems: the problems.
        subject: the subject of the message, which needs the blank ("a test sheet").
        advice: advice for questions, if any ("use --solver random").
        unique: whether to also refuse problems that contain a `_` other than their blank.

    Raises:
        DataError: a problem is unsuitable; the message names up to three such problems.

    >>> check_blanks([Problem("q", "Why?", ("a", "b"), blank=None)], "a test sheet")
    Traceback (most recent call last):
    winosmith.errors.DataError: a test sheet needs sentences with a blank ('_'); 1 problem is a question without one ('q')
    """  # noqa: E501
    unfit = [p for p in problems if p.blank is None or (unique and not p.blank_is_unique)]
    if not unfit:
        return
    without = [problem.id for problem in unfit if problem.blank is None]
    ids = without or [problem.id for problem in unfit]
    one = len(ids) == 1
    if without:
        wrong = "problem is a question" if one else "problems are questions"
        wrong = f"{len(ids):,} {wrong} without one"
    else:
        wrong = f"{len(ids):,} problem{' contains' if one else 's contain'} an additional '_'"
    raise DataError(
        f"{subject} needs sentences with a blank ('_'); {wrong} ({join_ids(ids)})"
        + (advice and f"; {advice}")
    )


def cut_to_local_context(problem: Problem, words_before: int, *, whole: bool = True) -> Problem:
    """Return a copy whose sentence is cut to its local context; see `text.get_local_context`.

    Raises:
        DataError: the problem is a question.
        ProblemError: there are no spaces between words.

    >>> cut_to_local_context(Problem("a", "It fell and the _ broke.", ("cup", "jug")), 2).sentence
    'and the _ broke.'
    """
    check_blanks([problem], "the local context")
    cut = get_local_context(problem.sentence, words_before, whole=whole, blank=problem.blank)
    at = len(cut) - len(" ".join(f"{BLANK}{problem.after}".split()))
    return replace(problem, sentence=cut, blank=at)


def tokenize_with_blank(problem: Problem) -> tuple[list[str], int | None]:
    """Return the tokens of a problem's text, and the index of the blank (None for questions).

    >>> tokenize_with_blank(Problem("a", "Run _x_, _ said.", ("Ann", "Eva"), blank=9))
    (['Run', '_x_', ',', '_', 'said', '.'], 3)
    """
    if problem.blank is None or problem.blank_is_unique:
        cut = tokenize(problem.sentence)
        at = None if problem.blank is None else next(n for n, t in enumerate(cut) if BLANK in t)
        return cut, at
    mark = next(sign for sign in _BLANK_MARKERS if sign not in problem.sentence)
    cut = tokenize(problem.replace_blank(mark))
    at = next(n for n, token in enumerate(cut) if mark in token)
    return [token.replace(mark, BLANK) for token in cut], at


def split_units_with_blank(problem: Problem) -> tuple[list[str], int | None]:
    """Return the units of a problem's text, and the index of the blank (None for questions).

    Units are those of `text.split_units`. In text without spaces between words, each mention of an
    option is one unit.

    >>> split_units_with_blank(Problem("a", "猫は箱より_が好き。", ("猫", "箱")))
    (['猫', 'は', '箱', 'よ', 'より', 'り', '_', 'が', 'が好', '好', '好き', 'き', '。'], 6)
    """
    if detect_script(problem.sentence) != "unspaced":
        cut, at = tokenize_with_blank(problem)
        return [token.lower() for token in cut], at
    found = split_units(problem.sentence, problem.options)
    if problem.blank is None:
        return found, None
    earlier = problem.sentence[: problem.blank].count(BLANK)
    return found, [at for at, unit in enumerate(found) if unit == BLANK][earlier]


def check_two_options(problems: Sequence[Problem], advice: str) -> None:
    """Raise DataError, with `advice`, if a problem does not have exactly two options."""
    others = [problem.id for problem in problems if len(problem.options) != 2]
    if others:
        raise DataError(
            f"{len(others):,} of {len(problems):,} problems don't have two options "
            f"({join_ids(others)}); {advice}"
        )


def check_pronouns(problems: Sequence[Problem]) -> None:
    """Raise DataError if a problem is a question or its pronoun is unknown."""
    check_blanks(problems, "a solver that sees the pronoun", "show the question (`sees='blank'`)")
    without = [problem.id for problem in problems if not (problem.pronoun or "").strip()]
    if without:
        raise DataError(
            f"the pronoun of {len(without):,} of {len(problems):,} problems is unknown "
            f"({join_ids(without)}), so solvers can't see it; show them the blank "
            "(`sees='blank'`)"
        )


def insert_pronoun(problem: Problem, mark: str = "") -> str:
    """Return the sentence with its pronoun in place of the blank, between two copies of `mark`.

    Raises:
        DataError: the pronoun is unknown.

    >>> nurse = Problem("1", "The nurse said that _ left.", ("nurse", "cook"), pronoun="she")
    >>> insert_pronoun(nurse, "*")
    'The nurse said that *she* left.'
    """
    check_pronouns([problem])
    pronoun = (problem.pronoun or "").strip()
    return problem.replace_blank(f"{mark}{pronoun}{mark}")


def build_inputs(problems: Sequence[Problem], sees: Sees, local: int | None = None) -> list[Input]:
    """Return the solver's input for each problem, normalised for comparison.

    White space and the order of options are ignored. An unknown pronoun is shown as the blank.
    `local` is the number of words before the blank that the solver sees; None shows all.

    >>> two = [Problem(g, "The nurse said _ left.", ("a", "b"), pronoun=g) for g in ("he", "she")]
    >>> len(set(build_inputs(two, "blank"))), len(set(build_inputs(two, "pronoun")))
    (1, 2)
    """
    found = []
    for problem in problems:
        shown = problem if local is None else cut_to_local_context(problem, local)
        text = shown.sentence
        if sees == "pronoun" and shown.blank is not None:
            text = shown.replace_blank((problem.pronoun or BLANK).strip().lower())
        elif shown.blank is not None and not shown.blank_is_unique:
            text = shown.replace_blank("\0_")
        options = frozenset(" ".join(option.split()) for option in problem.options)
        found.append((" ".join(text.split()), options))
    return found


def is_about_pronouns(problems: Sequence[Problem]) -> bool:
    """Return whether a data set is about pronouns, as Winogender and WinoBias are.

    At least half of the problems then have a version that differs only in the pronoun. A solver
    that sees the blank can't distinguish the two versions.
    """
    if not all((problem.pronoun or "").strip() for problem in problems):
        return False
    seen = build_inputs(problems, "blank")
    pairs = zip(seen, build_inputs(problems, "pronoun"), strict=True)
    distinct = Counter(blank for blank, _ in set(pairs))
    return 0 < MIN_VERSION_FRACTION * len(seen) <= sum(distinct[blank] > 1 for blank in seen)
