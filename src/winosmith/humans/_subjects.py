"""Records of subjects, and comparisons of groups of subjects."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from winosmith import data
from winosmith.errors import DataError, FormatError
from winosmith.humans._answers import SheetRemark, Sitting
from winosmith.humans._tally import Level, make_histogram, make_levels_record
from winosmith.options import Texts, declaration, from_table, to_table
from winosmith.results import Result, computed
from winosmith.text import normalize_name


@declaration
class Remark:
    """A subject's remark that they recognised the text of a problem or did not know a word."""

    problem: str | None
    """Id of the problem; null if unknown."""
    text: str
    """The remark."""


@declaration
class TakenSheet:
    """A sheet that a subject took."""

    sheet: str
    """Code of the sheet."""
    test: str
    """Name of the test: "a", "b" or "common"."""
    problems: Texts
    """Ids of the problems, in the order of the sheet."""


@declaration
class Subject:
    """A person who took human tests."""

    code: str
    """Code on the sheets; never a name."""
    native: bool | None = None
    """Whether English is the subject's first language; null if unknown."""
    attributes: Mapping[str, str] = field(default_factory=dict)
    """Other answers that the subjects gave about themselves, by name."""
    seconds: float | None = None
    """Total time for all sheets, in seconds; null if unknown."""
    taken: tuple[TakenSheet, ...] = ()
    """Sheets, in the order of entry; empty if unknown."""
    recognised: tuple[Remark, ...] = ()
    """Texts that the subject recognised."""
    words: tuple[Remark, ...] = ()
    """Words that the subject asked about."""


def make_subjects(
    sittings: Sequence[Sitting], declared: Iterable[Subject] = ()
) -> tuple[Subject, ...]:
    """Return the subjects of filled-in sheets, merged with the subjects' records from a file.

    Remarks in these records may have question numbers instead of problem ids if the subject has
    only one sheet.

    Raises:
        DataError: a record has no sheet, or contradicts the subject's form.
    """
    known = {subject.code: subject for subject in declared}
    own: dict[str, list[Sitting]] = {}
    for sitting in sittings:
        own.setdefault(sitting.subject, []).append(sitting)
    if missing := [code for code in known if code not in own]:
        raise DataError(
            f"the subject {missing[0]!r} has no answers; the subjects with answers are "
            f"{', '.join(sorted(own))}"
        )
    subjects = []
    for code, mine in own.items():
        timed = [seconds for s in mine if (seconds := _find_duration(s)) is not None]
        subject = Subject(
            code,
            next((s.native for s in mine if s.native is not None), None),
            {name: value for s in mine for name, value in s.attributes.items()},
            sum(timed) if len(timed) == len(mine) else None,
            tuple(
                TakenSheet(s.sheet.code, s.sheet.test, tuple(i.problem_id for i in s.sheet.items))
                for s in mine
            ),
            tuple(_make_remark(noted, s) for s in mine for noted in s.recognised),
            tuple(_make_remark(noted, s) for s in mine for noted in s.words),
        )
        if code in known:
            subject = _merge_subjects(subject, known[code], mine)
        subjects.append(subject)
    return tuple(subjects)


def _find_duration(sitting: Sitting) -> float | None:
    if sitting.seconds is not None:
        return sitting.seconds
    whole = count_seconds_between(sitting.started, sitting.ended)
    if whole is not None or not sitting.answers:
        return whole
    each = [answer.seconds for answer in sitting.answers.values()]
    return None if None in each else sum(filter(None, each))


def _make_remark(note: SheetRemark, sitting: Sitting) -> Remark:
    problem = None if note.number is None else sitting.sheet[note.number].problem_id
    return Remark(problem, note.text)


def _merge_subjects(subject: Subject, declared: Subject, sittings: Sequence[Sitting]) -> Subject:
    if None not in (subject.native, declared.native) and subject.native != declared.native:
        raise DataError(f"{subject.code!r} is a native speaker in one file and not in the other")
    for name, value in declared.attributes.items():
        if subject.attributes.get(name, value) != value:
            raise DataError(
                f"{subject.code!r} has {name} {value!r} in the subjects file and "
                f"{subject.attributes[name]!r} on the form; do two subjects have the same code?"
            )
    return replace(
        subject,
        native=declared.native if subject.native is None else subject.native,
        attributes={**subject.attributes, **declared.attributes},
        seconds=subject.seconds if declared.seconds is None else declared.seconds,
        recognised=subject.recognised + _resolve_question_numbers(declared.recognised, sittings),
        words=subject.words + _resolve_question_numbers(declared.words, sittings),
    )


def _resolve_question_numbers(
    remarks: Iterable[Remark], sittings: Sequence[Sitting]
) -> tuple[Remark, ...]:
    return tuple(
        _make_remark(SheetRemark(int(r.problem), r.text), sittings[0])
        if r.problem is not None and r.problem.isdigit() and len(sittings) == 1
        else r
        for r in remarks
    )


def make_subject_record(subject: Subject) -> dict[str, Any]:
    """Convert a subject to the JSON record of a line in subjects.jsonl."""
    record = to_table(subject)
    return {"subject": record.pop("code"), **record}


def count_seconds_between(started: str | None, ended: str | None) -> float | None:
    if started is None or ended is None:
        return None
    try:
        seconds = (datetime.fromisoformat(ended) - datetime.fromisoformat(started)).total_seconds()
    except (TypeError, ValueError):
        raise DataError(
            f"started {started!r} and ended {ended!r} must be times such as 2026-11-21T14:05"
        ) from None
    if seconds < 0:
        raise DataError(f"the end {ended} is before the start {started}")
    return seconds


_YES_NO = {"": None, "yes": True, "no": False, "1": True, "0": False}
_KNOWN_COLUMNS = {"subject", "native", "started", "ended", "recognised", "words"}


def read_subjects(path: str | Path) -> tuple[Subject, ...]:
    """Read subjects from JSON Lines (from `winosmith humans enter`), CSV or a spreadsheet.

    A table has a row for each subject and a column `subject`. Optional columns are `native` (yes,
    no or empty), `started` and `ended` (ISO 8601), and `recognised` and `words` ("12: a novel; 40:
    a film"). Other columns are attributes.

    Raises:
        FormatError: a record can't be read, or two subjects have the same code.
    """
    rows = data.read(path)
    if not rows.is_typed and "subject" not in map(str.lower, rows.names):
        raise FormatError("the table needs a column 'subject'", path, 1)
    found: dict[str, tuple[Subject, int]] = {}
    for row in rows:
        line = row.place.number
        if row.values is None:
            raise FormatError(str(row.reason), path, line)
        try:
            subject = _parse_record(row.values) if rows.is_typed else _parse_row(row.values)
        except ValueError as error:
            raise FormatError(str(error), path, line) from None
        if not subject.code:
            raise FormatError("the subject has no code", path, line)
        if subject.code in found:
            raise FormatError(
                f"two subjects have the code {subject.code!r}; the first is on line "
                f"{found[subject.code][1]}",
                path,
                line,
            )
        found[subject.code] = subject, line
    return tuple(subject for subject, _ in found.values())


def _parse_record(record: Mapping[str, Any]) -> Subject:
    if not isinstance(code := record.get("subject"), str):
        raise DataError(f"subject is {code!r}; it must be text")
    rest = {key: value for key, value in record.items() if key != "subject"}
    return from_table(Subject, {"code": normalize_name(code), **rest})


def _parse_row(cells: Mapping[str, str]) -> Subject:
    row = {name.lower(): cell.strip() for name, cell in cells.items()}
    native = row.get("native", "").lower()
    if native not in _YES_NO:
        raise ValueError(f"native is {native!r}; it must be yes, no or empty")
    started, ended = row.get("started") or None, row.get("ended") or None
    return Subject(
        normalize_name(row["subject"]),
        _YES_NO[native],
        {name: cell for name, cell in row.items() if name not in _KNOWN_COLUMNS and cell},
        count_seconds_between(started, ended),
        (),
        tuple(_parse_remarks(row.get("recognised", ""))),
        tuple(_parse_remarks(row.get("words", ""))),
    )


def _parse_remarks(cell: str) -> Iterator[Remark]:
    for part in filter(None, map(str.strip, cell.split(";"))):
        found = re.fullmatch(r"(\S+?)\s*:\s*(.+)", part)
        yield Remark(found[1], found[2]) if found else Remark(None, part)


Floats = npt.NDArray[np.float64]

SMALL_GROUP = 10
"""Minimum group size without a caution; Davis et al. (2016, section 4.1) had groups of 7 and 12."""

_DRAWS = 9_999


@dataclass(frozen=True, slots=True)
class Groups(Result):
    """A comparison of native speakers with others in one test.

    Attributes:
        native: number of native speakers.
        others: number of other subjects.
        means: mean scores, 0–1, of native speakers and of other subjects.
        welch: two-sided p-value of Welch's t-test (1947); None if a group has fewer than two people
            or if there is no variance.
        permutation: two-sided p-value of the permutation test; exact for few subjects.
        interval: 95 % interval of the difference (Welch); None if `welch` is None.
    """

    native: int
    others: int
    means: tuple[float, float]
    welch: float | None
    permutation: float
    interval: tuple[float, float] | None

    @property
    @computed()
    def difference(self) -> float:
        """Mean score of native speakers minus mean score of other subjects."""
        return self.means[0] - self.means[1]

    @property
    @computed()
    def caution(self) -> str:
        """A caution about small groups; empty if both groups have 10 or more subjects."""
        if min(self.native, self.others) >= SMALL_GROUP:
            return ""
        return (
            f"With {self.native} native speaker{'s' * (self.native != 1)} and {self.others} "
            f"other{'s' * (self.others != 1)}, only a large difference can be detected."
        )


def compare_groups(
    native: Sequence[float], others: Sequence[float], seed: int = 0
) -> Groups | None:
    """Compare the scores of native speakers and other subjects; return None if a group is empty.

    >>> found = compare_groups([1.0, 0.9], [0.8, 0.7])
    >>> round(found.difference, 2), round(found.permutation, 2)
    (0.2, 0.33)
    """
    if not native or not others:
        return None
    a, b = np.asarray(native), np.asarray(others)
    welch, interval = _run_welch_test(a, b)
    means = float(a.mean()), float(b.mean())
    permutation = _compute_permutation_p_value(a, b, seed)
    return Groups(len(a), len(b), means, welch, permutation, interval)


def compare_scores(scores: Floats, natives: Sequence[bool | None], seed: int) -> Groups | None:
    """Compare the groups; omit subjects whose first language is unknown (None in `natives`)."""
    known = np.array([[native is True, native is False] for native in natives])
    return compare_groups(scores[known[:, 0]].tolist(), scores[known[:, 1]].tolist(), seed)


def _compute_permutation_p_value(a: Floats, b: Floats, seed: int) -> float:
    """Return the fraction of permutations with at least the observed absolute difference.

    All permutations of the labels are used if there are few. Otherwise, random permutations and the
    observed labels are used. scipy's test requires two people per group, but WS.a of 2016 had one
    native speaker.
    """
    pool, total = np.concatenate([a, b]), float(a.sum() + b.sum())
    if math.comb(len(pool), len(a)) <= _DRAWS:
        chosen = np.array(list(combinations(range(len(pool)), len(a))))
    else:
        rng = np.random.default_rng([seed, len(a), len(b)])
        drawn = rng.permuted(np.tile(np.arange(len(pool)), (_DRAWS, 1)), axis=1)[:, : len(a)]
        chosen = np.vstack([np.arange(len(a)), drawn])
    sums = pool[chosen].sum(axis=1)
    differences = np.abs(sums / len(a) - (total - sums) / len(b))
    return float(np.mean(differences >= abs(a.mean() - b.mean()) - 1e-12))


def _run_welch_test(a: Floats, b: Floats) -> tuple[float | None, tuple[float, float] | None]:
    """Return the p-value and the 95 % interval of the difference; None if undefined."""
    from scipy.stats import ttest_ind

    if min(len(a), len(b)) < 2 or (np.ptp(a) == 0 and np.ptp(b) == 0):
        return None, None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # all scores of a group are equal
        found = ttest_ind(a, b, equal_var=False)
    low, high = map(float, found.confidence_interval())
    return float(found.pvalue), (low, high)


@dataclass(frozen=True, slots=True)
class ResultsWithoutWeakest(Result):
    """The results of a test without its weakest subjects.

    Attributes:
        omitted: codes of the omitted subjects, the weakest first.
        subjects: number of remaining subjects.
        mean: mean score of the remaining subjects, 0–1.
        groups: remaining native speakers compared with other remaining subjects; None if unknown.
        histogram: (remaining subjects who were correct, remaining subjects asked) → number of
            items, the best first; items without remaining subjects are omitted.
    """

    omitted: tuple[str, ...] = field(metadata={"key": "left_out"})
    subjects: int
    mean: float
    groups: Groups | None
    histogram: Mapping[Level, int] = field(metadata={"json": make_levels_record})


def omit_weakest(
    is_correct: Floats,
    names: Sequence[str],
    natives: Sequence[bool | None],
    weakest: int,
    seed: int = 0,
) -> ResultsWithoutWeakest | None:
    """Return None if `weakest` is 0 or fewer than two subjects would remain.

    Ties are broken by the subjects' codes, `names`. `is_correct`, (subjects, items), is 1 for
    correct, 0 for incorrect, and NaN for not asked.
    """
    if not 0 < weakest <= len(names) - 2:
        return None
    scores = np.nanmean(is_correct, axis=1)
    order = sorted(range(len(names)), key=lambda at: (scores[at], names[at]))
    out, left = order[:weakest], sorted(order[weakest:])
    kept = is_correct[left]
    asked = np.count_nonzero(~np.isnan(kept), axis=0)
    correct = np.nansum(kept, axis=0).astype(int)
    levels = (level for level in zip(correct.tolist(), asked.tolist(), strict=True) if level[1])
    codes, mean = tuple(names[at] for at in out), float(scores[left].mean())
    groups = compare_scores(scores[left], [natives[at] for at in left], seed)
    return ResultsWithoutWeakest(codes, len(left), mean, groups, make_histogram(levels))
