"""Validation by people: which problems their votes find valid (WinoGrande, section 2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from winosmith import text
from winosmith.answers import Response
from winosmith.dataset import Dataset, Filtered
from winosmith.errors import RecipeError
from winosmith.problem import Problem
from winosmith.validate._eligible import eligible
from winosmith.validate._examined import Examined, Outcome, gather

__all__ = ["Agreement", "VoteRules", "examine_votes", "votes"]

Agreement = Literal["majority", "unanimous", "off"]
"""More than half of the judges, a tie not being enough; all of them; or the rule is off."""


@dataclass(frozen=True, slots=True)
class VoteRules:
    """When a problem is valid.

    The paper: "(1) the majority of the three workers chooses the correct answer option, (2) they
    agree that the two answer options are unambiguous and (3) the question cannot be answered
    simply by word association in which local context around the target pronoun is given". It
    does not say what "agree" means nor how wide the local context is; both are settings.

    Attributes:
        judges: the number of distinct judges that a problem needs. More may vote; all count.
        correct: how many of the judges must choose the right option. A judge who chooses none is
            a judge who did not choose the right one.
        unambiguous: how many must find one option clearly more plausible.
        unassociated: how many must find that nearby words do not give the answer away.
        local: the problem is refused when so many of those who saw only the local context chose
            the right option. "unanimous", because three people who must guess are all right on 1
            problem in 8, two of them or more on every second.
        local_before: the words before the blank that they were shown; the local context runs
            from there to the end. 2 is what WinoGrande's local-context baseline sees (section 4.1).
        both_halves: a judge may vote on both halves of a twin. Off: whoever has seen one half
            reads the other as its opposite.
        undecided: what becomes of a problem with fewer than `judges` votes: "drop", with that as
            the reason, for it was not found valid; or "keep", unchecked.

    Raises:
        RecipeError: an unknown word, or a number out of its range.
    """

    judges: int = 3
    correct: Agreement = "majority"
    unambiguous: Agreement = "majority"
    unassociated: Agreement = "majority"
    local: Agreement = "unanimous"
    local_before: int = 2
    both_halves: bool = False
    undecided: Literal["drop", "keep"] = "drop"

    def __post_init__(self) -> None:
        if self.judges < 1:
            raise RecipeError(f"judges must be 1 or more, not {self.judges}")
        if self.local_before < 0:
            raise RecipeError(f"local_before must be 0 words or more, not {self.local_before}")
        for name in ("correct", "unambiguous", "unassociated", "local"):
            if getattr(self, name) not in get_args(Agreement):
                raise RecipeError(
                    f"{name} must be majority, unanimous or off, not {getattr(self, name)!r}"
                )
        if self.undecided not in ("drop", "keep"):
            raise RecipeError(f"undecided must be drop or keep, not {self.undecided!r}")


WINOGRANDE = VoteRules()


def votes(
    dataset: Dataset, responses: Iterable[Response], rules: VoteRules = WINOGRANDE
) -> Filtered:
    """Drop the problems that their judges do not find valid.

    Only votes that count are counted; see `eligible`. What is kept was chosen by these people's
    answers, so the same answers can't serve as human performance: the majority would be right by
    construction.

    Raises:
        DataError: a response that does not fit its problem.

    >>> from winosmith import Problem
    >>> data = Dataset([Problem("a", "The cup hit the jug and the _ broke.", ("cup", "jug"), 1)])
    >>> said = [Response("a", who, "validate", choice) for who, choice in [("x", 1), ("y", 0)]]
    >>> votes(data, said).dropped[0].reason
    'enough votes: 2 of the 3 judges that are needed'
    >>> votes(data, [*said, Response("a", "z", "validate", 1)]).kept.ids
    ('a',)
    """
    return examine_votes(dataset, responses, rules).filtered()


def examine_votes(
    dataset: Dataset, responses: Iterable[Response], rules: VoteRules = WINOGRANDE
) -> Examined:
    """Check each rule on each problem by the votes that count, and return what was found."""
    counted, _ = eligible(dataset, responses, both_halves=rules.both_halves)
    whole: list[list[Response]] = [[] for _ in dataset]
    local: list[list[Response]] = [[] for _ in dataset]
    for response in counted:
        of_purpose = local if response.purpose == "local" else whole
        of_purpose[dataset.row(response.problem_id)].append(response)
    outcomes = (
        Outcome(rule, (row,), detail)
        for row, problem in enumerate(dataset)
        for rule, detail in _verdict(problem, whole[row], local[row], rules)
    )
    return gather(dataset, "votes", outcomes, _active(rules))


class _Rule(NamedTuple):
    """A rule on the votes of those who read the whole problem: how many must answer yes."""

    name: str
    setting: str
    yes: Callable[[Response, Problem], bool]
    words: str


_OF_THE_WHOLE = (
    _Rule(
        "majority",
        "correct",
        lambda vote, problem: vote.choice == problem.answer,
        "chose the right option",
    ),
    _Rule(
        "ambiguity",
        "unambiguous",
        lambda vote, _: not vote.ambiguous,
        "find one option clearly more plausible",
    ),
    _Rule(
        "word association",
        "unassociated",
        lambda vote, _: not vote.associative,
        "find that nearby words do not give the answer away",
    ),
)


def _active(rules: VoteRules) -> Iterator[str]:
    if rules.undecided == "drop":
        yield "enough votes"
    for rule in _OF_THE_WHOLE:
        if getattr(rules, rule.setting) != "off":
            yield rule.name
    if rules.local != "off":
        yield "local context"


def _verdict(
    problem: Problem, whole: Sequence[Response], local: Sequence[Response], rules: VoteRules
) -> Iterator[tuple[str, str | None]]:
    enough = len(whole) >= rules.judges
    if rules.undecided == "drop":
        short = f"{len(whole)} of the {rules.judges} judges that are needed"
        yield "enough votes", "" if enough else short
    for rule in _OF_THE_WHOLE:
        how: Agreement = getattr(rules, rule.setting)
        if how == "off":
            continue
        if not enough or (rule.setting == "correct" and problem.answer is None):
            yield rule.name, None
            continue
        yes = sum(rule.yes(vote, problem) for vote in whole)
        fault = f"{yes} of {len(whole)} judges {rule.words}"
        yield rule.name, "" if _agree(yes, len(whole), how) else fault
    if rules.local != "off":
        yield "local context", _local(problem, local, rules)


def _local(problem: Problem, local: Sequence[Response], rules: VoteRules) -> str | None:
    if problem.answer is None or len(local) < rules.judges:
        return None
    right = sum(vote.choice == problem.answer for vote in local)
    if not _agree(right, len(local), rules.local):
        return ""
    context = text.local_context(problem.sentence, rules.local_before)
    return f"{right} of {len(local)} judges found the right option from {context!r}"


def _agree(yes: int, judges: int, how: Agreement) -> bool:
    return yes == judges if how == "unanimous" else 2 * yes > judges
