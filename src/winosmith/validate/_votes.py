"""Validation by judges: select eligible votes and valid problems (WinoGrande, section 2).

Vote files are CSV, which people can edit, or JSON Lines. A CSV file has a header, its cells are
separated by commas, semicolons or tabs, and its columns may be in any order:

==============  ===========================================================================
`problem_id`    id of the problem; required
`participant`   pseudonym of the judge; required
`choice`        letter of the chosen option, or its number **from 1**, as in `option1`; empty or
                NA for none; required
`purpose`       `validate` (the default), `local` or `test`
`ambiguous`     1 if the judge finds both options plausible, otherwise 0 or empty
`associative`   1 if the judge finds that nearby words reveal the answer, otherwise 0 or empty
`shown`         numbers or letters of the options in the order shown ("2 1"), or empty
`seconds`       time to answer, in seconds, or empty
==============  ===========================================================================

In JSON Lines, each line is an object with the fields of `winosmith.Response`, so options in
`choice` and `shown` are numbered **from 0**, as in `Problem.answer`. `choice` may be a letter, too.

In CSV, text that a spreadsheet would execute as a formula is written with a leading apostrophe,
which is removed when the file is read.
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from string import ascii_uppercase
from types import NoneType
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field

from winosmith import data, text
from winosmith.dataset import Dataset, Filtered
from winosmith.errors import DataError, FormatError, ProblemError
from winosmith.lineage import UNVALIDATED
from winosmith.options import declaration
from winosmith.outputs import atomic_write, guard_cell
from winosmith.problem import Extra, Problem
from winosmith.records import parse_json_lines, read_text
from winosmith.response import Response
from winosmith.validate._structure import Examination, collect_outcomes

Agreement = Literal["majority", "unanimous", "off"]
"""Required agreement: more than half of the judges, all judges, or "off" to disable the rule."""


@declaration
class VoteRules:
    """`[votes]`: the conditions for a valid problem.

    The paper: "(1) the majority of the three workers chooses the correct answer option, (2) they
    agree that the two answer options are unambiguous and (3) the question cannot be answered
    simply by word association in which local context around the target pronoun is given". The paper
    defines neither "agree" nor the width of the local context; both are settings.
    """

    judges: Annotated[int, Field(ge=1)] = 3
    """Minimum number of judges per problem. If there are more, all their votes count."""
    correct: Agreement = "majority"
    """Required agreement on the correct option. Choosing no option counts as incorrect."""
    unambiguous: Agreement = "majority"
    """Required agreement that one option is clearly more plausible."""
    unassociated: Agreement = "majority"
    """Required agreement that nearby words do not reveal the answer."""
    local: Agreement = "unanimous"
    """A problem is invalid if judges who saw only the local context reach this agreement on the
    correct option. By default "unanimous", because if three judges guess, all of them are correct
    on 1 problem in 8, but a majority is correct on 1 in 2."""
    local_before: Annotated[int, Field(ge=0)] = 2
    """Number of words before the blank in the local context, which extends to the end of the
    sentence. WinoGrande's local-context baseline uses 2 (section 4.1)."""
    both_halves: bool = False
    """Allow a judge to vote on both halves of a twin. Off by default, because a judge who has seen
    one half expects the opposite answer for the other half."""
    undecided: Literal["drop", "keep"] = "drop"
    """Whether to drop or keep a problem with too few votes."""


WINOGRANDE = VoteRules()


def filter_by_votes(
    dataset: Dataset, responses: Iterable[Response], rules: VoteRules = WINOGRANDE
) -> Filtered:
    """Drop the problems that the judges do not find valid.

    Only eligible votes are counted; see `select_eligible`. The kept problems were selected by these
    answers, so the same answers can't measure human performance: the majority would always be
    correct.

    Raises:
        DataError: a response does not fit its problem.

    >>> from winosmith import Problem
    >>> data = Dataset([Problem("a", "The cup hit the jug and the _ broke.", ("cup", "jug"), 1)])
    >>> said = [Response("a", who, "validate", choice) for who, choice in [("x", 1), ("y", 0)]]
    >>> filter_by_votes(data, said).dropped[0].reason
    'enough votes: 2 of the 3 required judges'
    >>> filter_by_votes(data, [*said, Response("a", "z", "validate", 1)]).kept.ids
    ('a',)
    """
    return examine_votes(dataset, responses, rules).drop_failed()


def examine_votes(
    dataset: Dataset, responses: Iterable[Response], rules: VoteRules = WINOGRANDE
) -> Examination:
    """Apply each rule to each problem's eligible votes, and return the findings."""
    counted, _ = select_eligible(dataset, responses, both_halves=rules.both_halves)
    whole: list[list[Response]] = [[] for _ in dataset]
    local: list[list[Response]] = [[] for _ in dataset]
    for response in counted:
        votes = local if response.purpose == "local" else whole
        votes[dataset.row(response.problem_id)].append(response)
    outcomes = (
        (rule, (row,), detail)
        for row, problem in enumerate(dataset)
        for rule, detail in _check_votes(problem, whole[row], local[row], rules)
    )
    active = ["enough votes"] * (rules.undecided == "drop")
    active += [rule.name for rule in _WHOLE_RULES if getattr(rules, rule.setting) != "off"]
    active += ["local context"] * (rules.local != "off")
    return collect_outcomes(dataset, "votes", outcomes, active)


class _VoteRule(NamedTuple):
    """A rule on votes by judges who read the whole problem."""

    name: str
    setting: str
    is_positive: Callable[[Response, Problem], bool]
    description: str


_WHOLE_RULES = (
    _VoteRule(
        "majority",
        "correct",
        lambda vote, problem: vote.choice == problem.answer,
        "chose the correct option",
    ),
    _VoteRule(
        "ambiguity",
        "unambiguous",
        lambda vote, _: not vote.ambiguous,
        "find one option clearly more plausible",
    ),
    _VoteRule(
        "word association",
        "unassociated",
        lambda vote, _: not vote.associative,
        "find that nearby words leave the answer open",
    ),
)


def _check_votes(
    problem: Problem, full: Sequence[Response], local: Sequence[Response], rules: VoteRules
) -> Iterator[tuple[str, str | None]]:
    enough = len(full) >= rules.judges
    if rules.undecided == "drop":
        short = f"{len(full)} of the {rules.judges} required judges"
        yield "enough votes", "" if enough else short
    for rule in _WHOLE_RULES:
        how: Agreement = getattr(rules, rule.setting)
        if how == "off":
            continue
        if not enough or (rule.setting == "correct" and problem.answer is None):
            yield rule.name, None
            continue
        yes = sum(rule.is_positive(vote, problem) for vote in full)
        fault = f"{yes} of {len(full)} judges {rule.description}"
        yield rule.name, "" if _is_agreement_reached(yes, len(full), how) else fault
    if rules.local != "off":
        found: str | None = None
        if problem.answer is not None and len(local) >= rules.judges:
            found, yes = "", sum(vote.choice == problem.answer for vote in local)
            if _is_agreement_reached(yes, len(local), rules.local):
                context = text.get_local_context(
                    problem.sentence, rules.local_before, blank=problem.blank
                )
                found = f"{yes} of {len(local)} judges found the correct option from {context!r}"
        yield "local context", found


def _is_agreement_reached(yes_votes: int, judges: int, agreement: Agreement) -> bool:
    return yes_votes == judges if agreement == "unanimous" else 2 * yes_votes > judges


@dataclass(frozen=True, slots=True)
class UncountedResponse:
    response: Response
    reason: str


def select_eligible(
    dataset: Dataset, responses: Iterable[Response], *, both_halves: bool = False
) -> tuple[tuple[Response, ...], tuple[UncountedResponse, ...]]:
    """Return the eligible votes and the other responses, each in the given order.

    The responses must be in chronological order. Votes by the author of a problem or of its other
    half are ineligible, and so are a judge's repeated votes on a problem for the same purpose. A
    judge can't vote on the local context after reading the whole problem, or on a problem after
    seeing the other half (unless `both_halves`). Responses in human tests, and responses to unknown
    problems, are not votes.

    Raises:
        DataError: a choice, or the order shown, does not fit the problem's options.
    """
    other_halves: dict[int, set[int]] = {}
    authors: dict[int, set[str]] = {}
    for group in dataset.groups:
        origins = (dataset[row].origin for row in group)
        wrote = {text.normalize_name(one.author) for one in origins if one and one.author}
        other_halves |= {row: {*group} - {row} for row in group}
        authors |= dict.fromkeys(group, wrote)
    rows = {problem.id: row for row, problem in enumerate(dataset)}
    seen: dict[str, dict[int, set[str]]] = {}
    votes: list[Response] = []
    aside: list[UncountedResponse] = []
    for response in responses:
        row = rows.get(response.problem_id)
        if row is None:
            aside.append(UncountedResponse(response, "the data set has no such problem"))
            continue
        _check_options(response, dataset[row])
        who = text.normalize_name(response.participant)
        before = seen.setdefault(who, {})
        here = before.setdefault(row, set())
        if response.purpose == "test":
            reason = "it belongs to a human test"
        elif who in authors[row]:
            reason = "the judge wrote the problem"
        elif response.purpose in here:
            reason = "the judge had already voted on it"
        elif response.purpose == "local" and not here.isdisjoint(("validate", "test")):
            reason = "the judge had read more than the local context"
        elif not both_halves and not before.keys().isdisjoint(other_halves[row]):
            reason = "the judge had seen the other half"
        else:
            reason = ""
        here.add(response.purpose)
        if reason:
            aside.append(UncountedResponse(response, reason))
        else:
            votes.append(response)
    return tuple(votes), tuple(aside)


def _check_options(response: Response, problem: Problem) -> None:
    options = len(problem.options)
    if response.choice is not None and response.choice >= options:
        raise DataError(
            f"{response.participant!r} chose option {response.choice + 1} of the problem "
            f"{problem.id!r}, which has {options}; correct the vote or leave it empty (options are "
            "numbered from 1 in CSV, and from 0 in JSON Lines)"
        )
    if response.shown and len(response.shown) != options:
        raise DataError(
            f"{response.participant!r} was shown {len(response.shown)} options of the problem "
            f"{problem.id!r}, which has {options}; correct the order or leave it empty"
        )


def find_valid_ids(dataset: Dataset, votes: Iterable[Response], rules: VoteRules) -> frozenset[str]:
    """Return the ids of kept problems that enough judges answered correctly."""
    if rules.correct == "off":
        return frozenset()
    counts = Counter(response.problem_id for response in votes if response.purpose != "local")
    answered = (problem for problem in dataset if problem.answer is not None)
    return frozenset(one.id for one in answered if counts[one.id] >= rules.judges)


def count_unvalidated(problems: Iterable[Problem]) -> int:
    """Return the number of generated problems that no judges have validated.

    >>> count_unvalidated([Problem("a", "A _ b.", ("x", "y"), extra=Extra({UNVALIDATED: True}))])
    1
    """
    return sum(bool(problem.extra.get(UNVALIDATED)) for problem in problems)


def remove_unvalidated(dataset: Dataset, valid_ids: Collection[str]) -> Dataset:
    """Remove the "unvalidated" flag from the problems with the given ids."""
    problems = [
        replace(p, extra=Extra({k: v for k, v in p.extra.items() if k != UNVALIDATED}))
        if p.id in valid_ids and UNVALIDATED in p.extra
        else p
        for p in dataset
    ]
    return Dataset(problems, dataset.name)


COLUMNS = tuple(field.name for field in fields(Response))
"""The columns of responses in CSV, which are also the keys in JSON Lines."""

_YES_NO = {"": False, "0": False, "1": True, "false": False, "true": True, "no": False, "yes": True}


def read_votes(path: str | Path) -> tuple[Response, ...]:
    """Read responses from CSV or JSON Lines; the first character distinguishes the formats.

    Raises:
        FormatError: the file is empty or not UTF-8, a column is missing or unknown, or a response
            can't be read. The message contains the line number.
    """
    return tuple(response for _, response in iterate_votes(path))


def iterate_votes(path: str | Path) -> Iterator[tuple[int, Response]]:
    """Yield the line number and the response of each record; see `read_votes`."""
    whole = read_text(path)
    if not whole.strip():
        raise FormatError("the file is empty", path)
    is_json = whole.lstrip()[0] in "{["
    for line, record in (_read_json_records if is_json else _read_csv_records)(whole, path):
        try:
            given = (_parse_record if is_json else _parse_row)(record)
            name = text.normalize_name(given["participant"])
            yield line, Response(**given | {"participant": name})
        except ProblemError as error:
            raise FormatError(str(error), path, line) from None


def write_votes(responses: Iterable[Response], path: str | Path) -> None:
    """Write responses as JSON Lines if the path ends in `.jsonl`, otherwise as CSV.

    Raises:
        OutputError: the file can't be written.
    """
    with atomic_write(path) as file:
        if Path(path).suffix == ".jsonl":
            for response in responses:
                record = asdict(response).items()
                given = {k: v for k, v in record if v is not None and v is not False and v != ()}
                file.write(json.dumps(given, ensure_ascii=False) + "\n")
        else:
            table = csv.writer(file, lineterminator="\r\n")  # RFC 4180
            table.writerow(COLUMNS)
            for response in responses:
                cells = (
                    guard_cell(response.problem_id),
                    guard_cell(response.participant),
                    response.purpose,
                    "" if response.choice is None else str(response.choice + 1),
                    str(int(response.ambiguous)),
                    str(int(response.associative)),
                    " ".join(str(option + 1) for option in response.shown),
                    "" if response.seconds is None else repr(response.seconds),
                )
                table.writerow(cells)


def check_keys(keys: Iterable[str], required: tuple[str, ...], path: str | Path, line: int) -> None:
    keys = list(keys)
    for key in required:
        if key not in keys:
            raise FormatError(f"{key!r} is missing; {', '.join(required)} are required", path, line)
    for key in keys:
        if key not in COLUMNS or keys.count(key) > 1:
            what = "occurs twice" if key in COLUMNS else "is unknown"
            known = ", ".join(COLUMNS)
            raise FormatError(f"the column {key!r} {what}; the columns are {known}", path, line)


def _read_csv_records(text: str, path: str | Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    table = data.Delimited(data.Source(Path(path), text.encode()))
    check_keys(table.header, ("problem_id", "participant", "choice"), path, 1)
    for row in table.rows():
        if row.values is None:
            raise FormatError(str(row.reason), path, row.place.number)
        yield row.place.number, row.values


def _parse_row(row: Mapping[str, str]) -> dict[str, Any]:
    return {
        "problem_id": row["problem_id"],
        "participant": row["participant"],
        "purpose": row.get("purpose", "").strip() or "validate",
        "choice": _parse_choice(row["choice"]),
        "ambiguous": _parse_flag(row, "ambiguous"),
        "associative": _parse_flag(row, "associative"),
        "shown": tuple(map(_parse_option, row.get("shown", "").split())),
        "seconds": _parse_seconds(row.get("seconds", "")),
    }


def _parse_choice(cell: str) -> int | None:
    """Accept 1.0, nan and NA, which pandas and R write."""
    if data.is_missing(cell.upper()):
        return None
    return _parse_option(data.parse_whole_number(cell.strip()) or cell.strip())


def _parse_option(cell: str) -> int:
    if re.fullmatch(r"[1-9][0-9]{0,2}", cell):
        return int(cell) - 1
    if re.fullmatch(r"[A-Wa-w]", cell):  # in human tests, X means ambiguous
        return ascii_uppercase.index(cell.upper())
    raise ProblemError(
        f"{cell!r} is not an option; write a letter (A for the first option) or a number from 1"
    )


def _parse_flag(row: Mapping[str, str], name: str) -> bool:
    cell = "" if data.is_missing(row.get(name)) else row[name].strip().lower()
    if cell not in _YES_NO:
        raise ProblemError(f"{name} is {cell!r}; it must be 1, 0 or empty")
    return _YES_NO[cell]


def _parse_seconds(cell: str) -> float | None:
    try:
        return None if data.is_missing(cell) else float(cell)
    except ValueError:
        raise ProblemError(f"seconds is {cell!r}; it must be a number or empty") from None


def _read_json_records(text: str, path: str | Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for number, record in parse_json_lines(text, path):
        check_keys(record, ("problem_id", "participant", "purpose"), path, number)
        yield number, record


def _parse_record(record: Mapping[str, Any]) -> dict[str, Any]:
    choice, shown = record.get("choice"), record.get("shown", [])
    if isinstance(choice, str) and not choice.strip().isdecimal():
        choice = _parse_choice(choice)
    for name, value in {**record, "choice": choice}.items():
        fits = type(value) in _JSON_TYPES[name] and not (name == "choice" and value and value % 1)
        if not fits or (name == "shown" and any(type(one) is not int for one in value)):
            advice = {
                "choice": "; write a letter (A for the first option) or a number from 0",
                "shown": "; write a list of numbers from 0",
            }
            raise ProblemError(f"{name} can't be {json.dumps(value)}{advice.get(name, '')}")
    return {**record, "choice": None if choice is None else int(choice), "shown": tuple(shown)}


_JSON_TYPES: Mapping[str, tuple[type, ...]] = {
    "problem_id": (str,),
    "participant": (str,),
    "purpose": (str,),
    "choice": (int, float, NoneType),
    "ambiguous": (bool,),
    "associative": (bool,),
    "shown": (list,),
    "seconds": (int, float, NoneType),
}
"""Accepted types of the value of each key in JSON Lines; a Boolean is not accepted as a number."""
