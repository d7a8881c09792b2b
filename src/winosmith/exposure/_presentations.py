"""Make two equivalent presentations of a block, by swapping two names or reversing the options.

Each operation is its own inverse, and uses neither ids nor answers. So the two presentations and
their order don't depend on which of them a source or release contains.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from winosmith.blocks import find_blocks
from winosmith.dataset import Dataset
from winosmith.metrics import switch_options
from winosmith.problem import BLANK, Lineage, Problem
from winosmith.recast import find_order_reference, reorder_options
from winosmith.text import is_content
from winosmith.validate import find_gender

Kind = Literal["names", "options"]
"""How two presentations differ: the names are swapped, or the options are reversed."""

_WORDS_ABOUT_NAMES = re.compile(
    r"\b(?:names?|named|namesakes?|nick\w*|spell\w*|initials?|alphabet\w*|syllables?|rhym\w*)\b",
    re.IGNORECASE,
)
"""Words that may make a sentence depend on the letters or the sound of a name."""

_WORD = re.compile(r"\w+")

_UNMODIFIED_WORD = re.compile(
    r"(?<![\w'’-])(?<!\b[Aa] )(?<!\b[Aa]n )(\w+)(?:['’]s)?(?![\w'’-]|\s+[A-Z])"
)
"""A word or its possessive that has no article, hyphen, other apostrophe or following surname."""

_WORD_AFTER_CAPITAL = re.compile(r"(?<=[^\s.!?:\"“])\s+[A-Z]\w*\.?\s+(?=(\w+))")
"""A word that follows a capitalised word within a sentence, as in "met Aunt Mary"."""

_LETTERED_OPTIONS = re.compile(r"(?:^|[\s(])A[.):]\s.*[\s(]B[.):]\s", re.DOTALL)
"""A question that lists its options with letters."""


def swap_names(problem: Problem) -> Problem | None:
    """Return the problem with the names of its two people swapped, or None.

    The options keep their order, and the other option becomes the answer. Both options must be
    given names of one gender, so that all pronouns fit. Each mention must be exactly the name or
    its possessive with "'s". Nothing in the text may depend on the names. Otherwise, the result is
    None. It is also None if the problem has edits, which would need the same swap.

    >>> pair = Problem("p", "Ann sold Maria's car because _ moved.", ("Ann", "Maria"), 1)
    >>> other = swap_names(pair)
    >>> other.sentence, other.answer
    ("Maria sold Ann's car because _ moved.", 0)
    >>> swap_names(Problem("p", "The cup hit the jug; the _ broke.", ("cup", "jug"), 1))
    """
    if not _has_two_names(problem):
        return None
    other = next(iter(switch_options(Dataset([problem])).kept), None)
    return other if other is not None and _has_two_names(other) else None


def _has_two_names(problem: Problem) -> bool:
    names, sentence = problem.options, problem.sentence
    anchor = (problem.origin and problem.origin.anchor) or ""
    if (
        len(names) != 2
        or {find_gender(name) for name in names} not in ({"female"}, {"male"})
        or not all(map(_is_given_name, names))
        or not (problem.blank is None or sentence.count(BLANK) == 1)
        or (problem.lineage is not None and problem.lineage.edits)
        or _WORDS_ABOUT_NAMES.search(sentence)
    ):
        return False
    words = _WORD.findall(sentence)
    mentions = [word for word in words if word.lower() in {name.lower() for name in names}]
    plain = [word for word in _UNMODIFIED_WORD.findall(sentence) if word in names]
    starts = {name[:3] for name in names}
    return (
        mentions == plain
        and set(plain) == set(names)
        and not set(_WORD_AFTER_CAPITAL.findall(sentence)) & set(names)
        and not {word for word in words if word[:3] in starts} - set(names)
        and not set(_WORD.findall(anchor)) & set(names)
    )


def _is_given_name(option: str) -> bool:
    """Return whether an option is a given name, and not a word such as "Queen" or "will"."""
    lower = option.lower()
    return (
        option.isalpha() and option.istitle() and find_gender(lower) is None and is_content(lower)
    )


def reverse_options(problem: Problem) -> Problem | None:
    """Return the problem with its options in reverse order, or None.

    The result is None if the order has a meaning, as for "all of the above", or if the reversed
    options are the same.

    >>> reverse_options(Problem("p", "It is _.", ("red", "green", "blue"), 0)).options
    ('blue', 'green', 'red')
    >>> reverse_options(Problem("p", "It is _.", ("red", "green", "all of the above"), 0))
    """
    is_lettered = _LETTERED_OPTIONS.search(problem.sentence)
    if is_lettered or find_order_reference(problem.sentence, problem.options):
        return None
    other = reorder_options(problem, range(len(problem.options))[::-1])
    return None if other.options == problem.options else other


def iter_presentations(problem: Problem) -> Iterator[Problem]:
    """Yield the problem and its other presentation of each kind."""
    yield problem
    yield from (other for other in (swap_names(problem), reverse_options(problem)) if other)


@dataclass(frozen=True)
class PresentedBlock:
    """A block of problems in its two presentations.

    Attributes:
        rows: row numbers of the problems, ascending.
        kind: difference between the presentations; None if there is no second presentation.
        a: the problems in the first presentation, in the order of the rows.
        b: the problems in the second presentation; empty if there is none.
    """

    rows: tuple[int, ...]
    kind: Kind | None
    a: tuple[Problem, ...]
    b: tuple[Problem, ...]


def present_blocks(problems: Sequence[Problem], splits: Sequence[str]) -> list[PresentedBlock]:
    """Return the two presentations of each block.

    All problems of a block change together. Names are swapped if the result is equivalent for all
    of them; otherwise, options are reversed. The first presentation is the one whose sorted texts
    come first in alphabetical order.

    Problems that become look-alikes only if names are swapped in one of them are also in one block.
    If such problems are in different splits, their names are not swapped, because the release could
    otherwise publish look-alikes in different splits.

    Args:
        problems: problems with distinct ids.
        splits: name of each problem's split.

    Returns:
        The blocks, in the order of their first rows.
    """
    swapped = [swap_names(problem) for problem in problems]
    # The same form of a problem represents it, whichever presentation is given.
    forms = zip(problems, swapped, strict=True)
    first = _map_to_first_rows([min(p, other or p, key=_get_text) for p, other in forms])
    both = [
        replace(p, id=f"{at} {row}", lineage=Lineage(f"{first[row]}", f"{first[row]}"))
        for at, form in enumerate((problems, swapped))
        for row, p in enumerate(form)
        if p is not None
    ]
    found: list[PresentedBlock] = []
    as_given: dict[int, int] = {}
    for block in find_blocks(Dataset(both)):
        rows = sorted({int(both[at].id.split()[1]) for at in block})
        if len({splits[row] for row in rows}) == 1:
            found.append(_present_block(problems, swapped, rows))
        else:
            nothing = [None] * len(problems)
            as_given = as_given or _map_to_first_rows(problems)
            parts = {as_given[row] for row in rows}
            found += [
                _present_block(problems, nothing, [row for row in rows if as_given[row] == part])
                for part in parts
            ]
    return sorted(found, key=lambda one: one.rows)


def _map_to_first_rows(problems: Iterable[Problem]) -> dict[int, int]:
    return {row: min(rows) for rows in find_blocks(Dataset(problems)) for row in rows}


def _present_block(
    problems: Sequence[Problem], swapped: Sequence[Problem | None], rows: Sequence[int]
) -> PresentedBlock:
    originals = tuple(problems[row] for row in rows)
    forms: dict[Kind, list[Problem | None]] = {
        "names": [swapped[row] for row in rows],
        "options": [reverse_options(problem) for problem in originals],
    }
    for kind, form in forms.items():
        other = tuple(problem for problem in form if problem is not None)
        if len(other) == len(originals) and _sort_texts(originals) != _sort_texts(other):
            a, b = sorted((originals, other), key=_sort_texts)
            return PresentedBlock(tuple(rows), kind, a, b)
    return PresentedBlock(tuple(rows), None, originals, ())


def _sort_texts(problems: Sequence[Problem]) -> list[tuple[str, tuple[str, ...]]]:
    return sorted(map(_get_text, problems))


def _get_text(problem: Problem) -> tuple[str, tuple[str, ...]]:
    return problem.sentence, problem.options
