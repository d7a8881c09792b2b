"""Convert problems to true-or-false claims or two-way comparisons, and reorder options.

A problem with k options becomes k claims, one of them true (SuperGLUE-WSC), or k - 1 comparisons of
the correct option with an incorrect one (WinoGrande's table 5 counts 80 comparisons from 60 PDPs).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from string import ascii_uppercase

from winosmith.dataset import Dataset, group_rows
from winosmith.errors import ProblemError
from winosmith.problem import MAX_OPTIONS, Claim, Extra, Problem
from winosmith.seen import check_blanks

ALL_OF_THE_ABOVE = re.compile(
    r"\b(?:all|both|any)\b[^.]{0,12}\b(?:above|these|options|answers|choices)\b", re.I
)
NONE_OF_THE_ABOVE = re.compile(
    r"\b(?:none|neither)\b[^.]{0,12}\b(?:above|these|options|answers|choices)\b", re.I
)
SEVERAL_OPTIONS = re.compile(
    r"\b(?:both )?\(?[A-I]\)?(?:,| and| or|,? &) \(?[A-I]\)?\b(?! \w)|\b[IV]+(?:,| and| only)"
)
_NOT_ENGLISH = re.compile(
    r"(?i:\b(?:tod[oa]s|ningun[oa]|ambas|nenhuma?|tutt[ei]|nessun[oa]|entrambe|tou(?:te)?s|aucune?"
    r"|alle[ns]?|keine?[rs]?|beide|geen|вс[её]|оба|ни один|ничего|нет|wszystkie|żadn\w+|semua"
    r"|tất cả)\b.{0,20}\b(?:anterior|opci|opç|respuesta|resposta|alternativa|acima|precedent|sopra"
    r"|rispost|opzion|ci-dessus|répons|précéd|proposition|(?:oben )?genannt|antwort|obig|antwoord"
    r"|bovenstaand|(?:выше)?(?:перечисл|указан)|вариант|ответ|powyż|odpowied|jawaban|benar|trên)"
    r"|^(?:以上(?!海)|上述|上記|(?:都|均|全)不?[是对對选選正错]|いずれ|どれ[もで]|위(?:의)? ?모두"
    r"|모두 (?:맞|옳)|정답 ?없|उपरोक्त|इनमें से|yukarıdaki|hiçbiri)"
    r"|(?:جميع|كل|لا شيء|كلا) .{0,8}(?:سبق|ذكر|أعلاه|الإجاب))"
    r"|^\W*(?:仅|只有|(?i:sowohl|solo|sólo|tanto|nur|только) )?\(?[A-IА-Е]\)? ?"
    r"(?:[,&/+、，和与與及跟と·]|\b(?:y|e|o|et|ou|und|oder|en|of|или|и|i|ve|dan|và|como)\b) ?"
    r"\(?[A-IА-Е](?![a-zа-я])"
)
"""Options such as "all of the above" and "A and B" in other languages."""

_LETTERS = re.compile(
    r"^\W*(?i:only )?\(?(?P<letter>[A-Z])\)?(?i: only| alone)?\W*$"
    r"|\b(?i:option|answer|choice)s? \(?[A-Z]\)?(?!\w)"
    r"|\b(?i:first|second|third|fourth|last|previous|preceding|following|other|above|below) "
    r"(?:two |three )?(?:options?|answers?|choices?)\b"
    r"|^(?i:all|none|both|neither|any|either)\W*$"
    r"|\b(?i:all|none|both|neither|any|either|more than one|one|two|three) of "
    r"(?:the|these|those|them)\b ?(?:above|below|options|answers|choices|others)?\W*$"
)
_OTHERS = re.compile(
    r"^\W*(?:both )?\(?[a-i]\)?(?:(?:,| and| or|,? &) \(?[a-i]\)?)+(?: only)?\W*$|[①-⑨]\W?[①-⑨]"
    r"|\b(?i:option|answer|choice)s? \(?\d|\b(?i:the (?:first|last|other) (?:two|three|ones?)\W*$)"
    r"|所有选项|모두 정답|ما سبق|התשובות|ci-dessus|^(?i:bovenstaande|hepsi|mindegyik)\W*$"
    r"|^(?i:(?:alle|keine|beide)[sr]?\b(?: (?:davon|der|diese)\b.*)?\W*$)"
)
"""Further options that refer to others, by lower-case letters, numbers or a single word."""
_OPTION_REFERENCE = re.compile(r"\b(?i:option|answer|choice)s? \(?[A-Z]\)?(?!\w)")
"""A reference to an option by its letter, such as "option B"."""


@dataclass(frozen=True, slots=True)
class Leftover:
    """A claim that could not be grouped into a problem.

    Attributes:
        row: the claim's 0-based index in the input.
    """

    claim: Claim
    reason: str
    row: int


@dataclass(frozen=True, slots=True)
class Recast:
    """The result of `to_problems`, in which every claim is part of a problem or a leftover.

    Attributes:
        problems: the problems, in the order of their first claims.
        leftovers: the claims that could not be grouped, in the order of the input.
    """

    problems: Dataset
    leftovers: tuple[Leftover, ...]


def to_claims(problems: Iterable[Problem]) -> tuple[Claim, ...]:
    """Convert problems to claims, one for each option, in order.

    Claims don't keep the twin, origin, lineage or embargo of their problem.

    Raises:
        DataError: a problem is a question, or contains a `_` other than its blank.

    >>> problem = Problem("p", "The cup hit the jug and _ broke.", ("the cup", "the jug"), 1)
    >>> [(claim.candidate, claim.holds) for claim in to_claims([problem])]
    [('the cup', False), ('the jug', True)]
    """
    problems = tuple(problems)
    check_blanks(problems, "a claim", unique=True)
    return tuple(
        Claim(
            problem_id=problem.id,
            sentence=problem.sentence,
            candidate=option,
            holds=None if problem.answer is None else index == problem.answer,
            pronoun=problem.pronoun,
            extra=problem.extra,
        )
        for problem in problems
        for index, option in enumerate(problem.options)
    )


def to_problems(claims: Sequence[Claim], name: str = "") -> Recast:
    """Group claims by `problem_id` into problems and leftovers.

    The options are the candidates, in order. A claim that repeats an earlier claim of its group is
    a leftover. All claims of a group are leftovers if they have different sentences, if there are
    fewer than 2 or more than 26, if only some have a label, or if not exactly one is true. The
    problem keeps the values of `extra` that all its claims share.

    >>> claims = to_claims([Problem("p", "A _ b.", ("x", "y"), 0)])
    >>> recast = to_problems([*claims, Claim("q", "A _ b.", "x", holds=True)])
    >>> recast.problems.ids, [(left.claim.problem_id, left.reason) for left in recast.leftovers]
    (('p',), [('q', 'it is the only claim of its problem')])
    """
    problems: list[Problem] = []
    reasons: dict[int, str] = {}
    for rows in group_rows(claim.problem_id for claim in claims).values():
        first_rows: dict[tuple[str, bool | None], int] = {}
        for row in rows:
            key = claims[row].candidate.strip(), claims[row].holds
            if first_rows.setdefault(key, row) != row:
                reasons[row] = "it repeats an earlier claim"
        try:
            problems.append(_build_problem([claims[row] for row in first_rows.values()]))
        except ProblemError as error:
            reasons |= dict.fromkeys(first_rows.values(), str(error))
    leftovers = tuple(Leftover(claims[row], reasons[row], row) for row in sorted(reasons))
    return Recast(Dataset(problems, name), leftovers)


def _build_problem(group: Sequence[Claim]) -> Problem:
    if len({(claim.sentence, claim.pronoun) for claim in group}) > 1:
        raise ProblemError("the claims of its problem have different sentences")
    if len(group) == 1:
        raise ProblemError("it is the only claim of its problem")
    if len(group) > MAX_OPTIONS:
        raise ProblemError(
            f"its problem has {len(group)} claims; a problem has at most {MAX_OPTIONS}"
        )
    labels = [claim.holds for claim in group]
    if None in labels and any(label is not None for label in labels):
        raise ProblemError("only some claims of its problem have a label")
    if None not in labels and labels.count(True) != 1:
        raise ProblemError(f"{labels.count(True) or 'no'} claims of its problem are true, not 1")
    first = group[0]
    shared = set.intersection(*(set(claim.extra.items()) for claim in group))
    return Problem(
        id=first.problem_id,
        sentence=first.sentence,
        options=tuple(claim.candidate for claim in group),
        answer=labels.index(True) if True in labels else None,
        pronoun=first.pronoun,
        extra=Extra(dict(shared)),
    )


def to_pairs(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Convert problems to comparisons of the correct option with each incorrect option.

    A problem with two options or without an answer is unchanged. Other problems become k - 1
    comparisons with the ids "id#1", "id#2" and so on. The number is the 1-based index of the
    incorrect option among all incorrect options, so that the id does not reveal the answer. Options
    keep their order.

    >>> problem = Problem("p", "It is _.", ("red", "green", "blue"), 1)
    >>> [(pair.id, pair.options, pair.answer) for pair in to_pairs([problem])]
    [('p#1', ('red', 'green'), 1), ('p#2', ('green', 'blue'), 0)]
    """
    pairs = list[Problem]()
    for problem in problems:
        right, options = problem.answer, problem.options
        if len(options) == 2 or right is None:
            pairs.append(problem)
            continue
        wrongs = [index for index in range(len(options)) if index != right]
        for number, wrong in enumerate(wrongs, start=1):
            two = (options[min(wrong, right)], options[max(wrong, right)])
            name = f"{problem.id}#{number}"
            pairs.append(replace(problem, id=name, options=two, answer=int(right > wrong)))
    return tuple(pairs)


def find_order_reference(question: str, options: Sequence[str]) -> str | None:
    """Return the first text that refers to the order of the options, or None.

    Such a problem must keep its order. A single letter is a reference if there are enough options.

    >>> find_order_reference("Which floats?", ("cork", "lead", "none of the above"))
    'none of the above'
    >>> find_order_reference("Which blood is rarest?", ("O", "AB", "B", "A"))
    'B'
    >>> find_order_reference("Which is oxygen?", ("O", "Hg", "Pb", "Cu"))
    """
    if _OPTION_REFERENCE.search(question):
        return question
    return next((option for option in options if refers_to_others(option, len(options))), None)


def refers_to_others(option: str, count: int) -> bool:
    """Return whether one of `count` options refers to others, such as "all of the above"."""
    patterns = (ALL_OF_THE_ABOVE, NONE_OF_THE_ABOVE, SEVERAL_OPTIONS, _NOT_ENGLISH, _OTHERS)
    if any(pattern.search(option) for pattern in patterns):
        return True
    found = _LETTERS.search(option)
    letter = found and found["letter"]
    return bool(found) and (not letter or ascii_uppercase.index(letter) < count)


def reorder_options(problem: Problem, order: Sequence[int]) -> Problem:
    """Return the problem with its options in the order of the given 0-based indices.

    >>> new = reorder_options(Problem("p", "It is _.", ("red", "green", "blue"), 1), (2, 0, 1))
    >>> new.options, new.answer
    (('blue', 'red', 'green'), 2)
    """
    key = None if problem.answer is None else order.index(problem.answer)
    return replace(problem, options=tuple(problem.options[at] for at in order), answer=key)
