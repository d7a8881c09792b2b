"""Estimate the number of wrong keys from people's judgements of a random sample.

Before the judging, the items with a key are divided into two strata: the highest-ranked suspects,
which are all checked, and all other items, of which a random sample is checked. Judges don't see
keys, models' answers or strata. A key is wrong if the judges agree on another option.

In a stratum of N items, n are checked, and x of these have a wrong key. The number M of wrong keys
in the stratum has the exact limits (Katz 1953)

    lower: minimum M with P(X ≥ x | M) > α,    upper: maximum M with P(X ≤ x | M) > α,

where X is hypergeometric with N, M and n. α is .025 / H for the H strata of which only a sample is
checked. In at least 95 of 100 samples, all limits are correct simultaneously, and so are their
sums. An undecided item is counted as sound in the lower limit and as wrong in the upper limit.

The usual normal interval of the Horvitz-Thompson estimate is too narrow, because few checked items
have wrong keys. With 100 checks of 2,000 items and 20 wrong keys, the normal interval contains 20
in 42 % of 1,000 samples, and the exact limits in 99 % (`benchmarks/bench_key_check.py`).

A quarter of the checks goes to the suspects. A larger fraction would correct more keys, but raise
the upper limit, which depends on the number of checks among all other items.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from winosmith import formats
from winosmith.audit._triage import Suspect
from winosmith.dataset import Dataset, Filtered
from winosmith.errors import DataError, FormatError
from winosmith.formats import Erratum
from winosmith.humans import LETTERS
from winosmith.options import declaration, from_table
from winosmith.problem import BLANK, Extra, Problem
from winosmith.records import parse_json
from winosmith.report import percent_span
from winosmith.response import Response
from winosmith.results import HIDDEN, IF_ANY, Result, computed, shown
from winosmith.text import format_count

CHECKS_PER_SUSPECT = 4
"""One in this many checked items is a suspect."""

MIN_CHECKS = 10
"""Minimum number of checks; with fewer, the upper limit would exceed a third of all keys."""

_TAIL = 0.025
"""Maximum probability that a sum of lower limits is too high, or a sum of upper limits too low."""

_MIN_AGREEING_JUDGES = 2

_MAX_SITE_OPTIONS = 5

Verdict = Literal["wrong", "sound", "undecided"]


@declaration
class Stratum:
    """A group of items, some or all of which are drawn for a check."""

    name: str
    """Description of the stratum."""
    items: Annotated[int, Field(ge=1)]
    """Number of items."""
    drawn: Annotated[int, Field(ge=1)]
    """Number of items drawn for the check."""


@declaration
class DrawnItem:
    """An item drawn for the check."""

    asked: str
    """Uninformative id on test sheets; copies share an id, because they are shown only once."""
    id: str
    """Id in the data."""
    stratum: Annotated[int, Field(ge=0)]
    """0-based number of the stratum."""
    options: tuple[str, ...]
    """Options of the item."""
    key: Annotated[int, Field(ge=0)]
    """Key in the data, as the 0-based number of an option."""
    other: Annotated[int, Field(ge=0)] | None = None
    """0-based number of the option that models propose, if the item is a suspect."""
    site: str = ""
    """Id on the site, if the item was uploaded to a site."""


@declaration
class KeyCheck:
    """A random sample of items whose keys are checked by people.

    The sample contains the keys, so judges must not see it before they finish.
    """

    data: str
    """Digest of the data."""
    seed: Annotated[int, Field(ge=0)]
    """Random seed of the sample."""
    strata: Annotated[tuple[Stratum, ...], Field(min_length=1)]
    """The strata; each item with a key belongs to one stratum."""
    items: Annotated[tuple[DrawnItem, ...], Field(min_length=1)]
    """The drawn items, in the random order in which they are asked."""
    planted: Annotated[float, Field(ge=0, le=1)] | None = None
    """Fraction of planted wrong keys that rank as high as the suspects in the first stratum, if
    known."""

    def __post_init__(self) -> None:
        drawn = Counter(item.stratum for item in self.items)
        for number, stratum in enumerate(self.strata):
            if drawn.pop(number, 0) != stratum.drawn or stratum.drawn > stratum.items:
                raise DataError(
                    f"the stratum {stratum.name!r} must have {stratum.drawn} drawn items"
                )
        if drawn:
            raise DataError(f"there is no stratum {next(iter(drawn))}")
        if odd := [one for one in self.items if max(one.key, one.other or 0) >= len(one.options)]:
            raise DataError(f"the key of {odd[0].id!r} is not one of its options")

    @property
    def max_if_none_found(self) -> int:
        """Upper limit on the number of wrong keys if the judges find none."""
        return sum(high for _, high in _bound_strata(self.strata, [(0, 0)] * len(self.strata)))


def draw_check(
    data: Dataset | formats.Readable,
    suspects: Sequence[Suspect],
    n: int,
    *,
    seed: int = 0,
    planted: Sequence[float] = (),
    suspect_count: int | None = None,
) -> KeyCheck:
    """Draw a sample of items whose keys people will check.

    A quarter of the items are the highest-ranked suspects; the others are drawn at random from all
    other items with a key.

    Args:
        data: the items, as a data set or any input of `formats.read`.
        suspects: items whose keys may be wrong, the most suspect first; empty if unknown.
        n: number of checks, at least 10; capped at the number of items with a key.
        seed: random seed of the sample and of its order.
        planted: ranks of planted wrong keys, as the fraction of untouched items that rank higher,
            0–1; empty if unknown.
        suspect_count: maximum number of suspects among the checks; by default a quarter of them.

    Raises:
        DataError: fewer than 10 items would be drawn, or all of them would be suspects.

    >>> from winosmith import Problem
    >>> data = Dataset(Problem(f"q{at}", f"Which is {at}? _", ("a", "b"), 0) for at in range(90))
    >>> check = draw_check(data, [Suspect("q7", 1, 0.9, 3), Suspect("q2", 1, 0.8, 3)], 20)
    >>> [(stratum.name, stratum.items, stratum.drawn) for stratum in check.strata]
    [('the first 2 suspects', 2, 2), ('all other items', 88, 18)]
    """
    data = formats.as_dataset(data)
    rows = {problem.id: row for row, problem in enumerate(data) if problem.answer is not None}
    n = min(n, len(rows))
    if n < MIN_CHECKS:
        raise DataError(f"a sample of {n} items with a key is too small; use {MIN_CHECKS} or more")
    most = n // CHECKS_PER_SUSPECT if suspect_count is None else suspect_count
    first = [one.id for one in suspects if one.id in rows][:most]
    if len(first) >= n:
        raise DataError(f"all {n} checked items would be suspects; check more items than suspects")
    rest = sorted(rows.keys() - {*first})
    rng = np.random.default_rng([seed, 11])
    sample = rng.choice(len(rest), n - len(first), replace=False).tolist()
    drawn = [*first, *(rest[at] for at in sample)]
    strata = [Stratum("all other items" if first else "all items", len(rest), len(sample))]
    if first:
        strata.insert(
            0, Stratum(f"the first {format_count(len(first), 'suspect')}", len(first), len(first))
        )
    proposed = {one.id: one.other for one in suspects}
    items, asked = [], dict[tuple[str, ...], str]()
    for at in rng.permutation(n).tolist():
        problem = data[rows[name := drawn[at]]]
        number = asked.setdefault((problem.sentence, *problem.options), f"{len(asked) + 1}")
        stratum = 0 if name in first else len(strata) - 1
        key = problem.answer or 0
        items.append(
            DrawnItem(number, name, stratum, problem.options, key, proposed.get(problem.id))
        )
    are_above = np.asarray(planted) <= len(first) / len(rows)
    as_high = float(are_above.mean()) if are_above.size else None
    return KeyCheck(data.digest, seed, tuple(strata), tuple(items), as_high if first else None)


def make_problems_for_judges(
    check: KeyCheck, data: Dataset | formats.Readable, *, site: bool = False
) -> Filtered:
    """Convert the drawn items to problems for judges, with ids that reveal nothing.

    Judges don't see keys, origins or other fields of the data. Questions get a blank at the end.
    Problems for a site include the key, because the site compares votes with keys, but its pages
    don't show keys.

    Args:
        check: the drawn items.
        data: the data from which they were drawn.
        site: whether the problems are for a site, which can't show items with another `_` or
            more than 5 options; these are dropped. Test sheets have up to 23 options.

    Raises:
        DataError: the data has no item with the id of a drawn item.
    """
    data = formats.as_dataset(data)
    asked, twins = dict[str, Problem](), dict[str, str]()
    reasons = dict[int, str]()
    most = _MAX_SITE_OPTIONS if site else len(LETTERS)
    for item in check.items:
        if item.asked in asked:
            continue
        problem = data[data.row(item.id)]
        sentence, twin = problem.sentence.rstrip(), problem.twin_id
        if problem.blank is None:
            blank = len(sentence) + 1
            problem = replace(problem, sentence=f"{sentence} {BLANK}", blank=blank)
        if len(problem.options) > most:
            reasons[len(asked)] = (
                f"it has {len(problem.options)} options; at most {most} can be shown"
            )
        elif site and not problem.blank_is_unique:
            reasons[len(asked)] = f"it contains another {BLANK!r}"
        asked[item.asked] = replace(
            problem,
            id=item.asked,
            answer=problem.answer if site else None,
            twin_id=None if twin is None else twins.setdefault(twin, f"t{len(twins) + 1}"),
            lineage=None,
            origin=None,
            extra=Extra(),
        )
    name = f"check {check.data} {check.seed} {len(check.items)}"
    return Dataset(asked.values(), name).drop(reasons, "people")


def make_check_record(check: KeyCheck) -> dict[str, Any]:
    """Convert a check to a JSON record that `read_check` accepts."""
    return {"winosmith": "key check", **asdict(check)}


def read_check(path: str | Path) -> KeyCheck:
    """Read a key check from its private file.

    Raises:
        FormatError: the file can't be read, or is not a key check.
    """
    path = Path(path)
    try:
        record = parse_json(path.read_text("utf-8"))
        if not isinstance(record, dict) or record.pop("winosmith", None) != "key check":
            raise DataError("this file was not written by `winosmith audit --check`")
        return from_table(KeyCheck, record)
    except (OSError, ValueError) as error:
        raise FormatError(str(error), path) from error


@dataclass(frozen=True, slots=True)
class JudgedKey(Result):
    """The judges' verdict on a key.

    Attributes:
        id: the id of the item in the data.
        key: the text of the key in the data.
        choice: the text of the option that most judges chose; None if no judge chose an option.
        proposed: the text of the option that models propose, if any.
        agreement: agreement of the judges as text, such as "2 of 3".
        verdict: "wrong" if the judges agree on another option, "sound" if they agree on the key,
            otherwise "undecided".
        chosen: index of the option that most judges chose.
        item: the item.
    """

    id: str = field(metadata=shown("item"))
    key: str = field(metadata=shown("key"))
    choice: str | None = field(metadata=shown("judges chose"))
    proposed: str | None = field(metadata=shown("models chose"))
    agreement: str = field(metadata={"key": "votes"} | shown("judges"))
    verdict: Verdict = field(metadata={"columns": ()})
    chosen: int | None = field(metadata=HIDDEN)
    item: DrawnItem = field(metadata=HIDDEN)


def judge_keys(check: KeyCheck, responses: Iterable[Response]) -> tuple[JudgedKey, ...]:
    """Return the verdict on each drawn key, in the order in which the items were asked.

    Judges agree if at least two of them, and more than half, choose the same option. A judge who
    finds an item ambiguous chooses no option. Answers to other items, and answers based only on the
    local context, are ignored.
    """
    item_of = {name: item for item in check.items for name in (item.asked, item.site) if name}
    said: dict[str, dict[str, int | None]] = {item.asked: {} for item in check.items}
    for response in responses:
        item, who = item_of.get(response.problem_id), response.participant
        if item is None or response.purpose == "local":
            continue
        if who in said[item.asked]:
            raise DataError(f"{who!r} judged {item.id!r} twice; keep one of the answers")
        choice = None if response.ambiguous else response.choice
        if choice is not None and choice >= len(item.options):
            raise DataError(
                f"{who!r} chose option {choice + 1} of {item.id!r}, which has only "
                f"{len(item.options)} options"
            )
        said[item.asked][who] = choice
    if not any(said.values()):
        raise DataError(
            "no answer belongs to an item of this check; do the answers belong to another check?"
        )
    found = []
    for item in check.items:
        answers, options = said[item.asked].values(), item.options
        # Options with the same text count as one option.
        votes = Counter(options.index(options[at]) for at in answers if at is not None)
        chosen, agree = votes.most_common(1)[0] if votes else (None, 0)
        verdict: Verdict = "undecided"
        if agree >= _MIN_AGREEING_JUDGES and 2 * agree > len(answers):
            verdict = "sound" if chosen == item.key else "wrong"
        voted, proposed = (None if at is None else options[at] for at in (chosen, item.other))
        agreement, key = f"{agree} of {len(answers)}", options[item.key]
        found.append(JudgedKey(item.id, key, voted, proposed, agreement, verdict, chosen, item))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class StratumResult(Result):
    """The wrong keys in a stratum.

    Attributes:
        name: description of the stratum.
        items: number of items in the stratum.
        checked: number of items that were given to judges.
        wrong: number of checked items with a wrong key.
        undecided: number of checked items on which the judges don't agree.
        limits: limits of the number of wrong keys in the stratum. In at least 95 of 100 samples,
            the limits of all strata are correct simultaneously.
    """

    name: str = field(metadata=shown("stratum"))
    items: int = field(metadata=shown("items"))
    checked: int = field(metadata=shown("checked"))
    wrong: int = field(metadata=shown("wrong"))
    undecided: int = field(metadata=shown("undecided"))
    limits: tuple[int, int] = field(
        metadata=shown("wrong among all", lambda both: f"{both[0]:,} to {both[1]:,}")
    )

    @property
    @computed(**shown("fraction", percent_span))
    def precision(self) -> tuple[float, float]:
        """Interval of the fraction of wrong keys, 0–1 (for suspects, the ranking's precision)."""
        return self.limits[0] / self.items, self.limits[1] / self.items


@dataclass(frozen=True)
class WrongKeys(Result):
    """The number of wrong keys in a data set, estimated from people's judgements.

    Attributes:
        items: number of items with a key.
        people: number of judges.
        limits: 95 % interval of the number of wrong keys.
        strata: the result for each stratum of the sample.
        keys: the verdict on each drawn item.
        seen: 95 % interval of the fraction of all wrong keys that are in the first stratum, 0–1;
            None if there is only one stratum, or if all keys may be sound.
        visibility: 95 % interval of v, the ratio of `seen` to the same fraction of planted wrong
            keys (`KeyCheck.planted`); None if either fraction is unknown.
    """

    items: int
    people: int
    limits: tuple[int, int]
    strata: tuple[StratumResult, ...]
    keys: tuple[JudgedKey, ...] = field(metadata={"rows": True})
    seen: tuple[float, float] | None = field(metadata=IF_ANY)
    visibility: tuple[float, float] | None = field(metadata=IF_ANY)

    @property
    @computed(key="rate")
    def rate_interval(self) -> tuple[float, float]:
        """The 95 % interval of the fraction of wrong keys, 0–1."""
        return self.limits[0] / self.items, self.limits[1] / self.items

    @property
    @computed(key="as_proposed")
    def confirmed_proposals(self) -> int:
        """Number of wrong keys for which the judges chose the option that the models proposed."""
        return sum(one.chosen == one.item.other for one in self.filter_keys("wrong"))

    def filter_keys(self, verdict: Verdict) -> list[JudgedKey]:
        """Select the keys with the given verdict, in the order in which they were asked."""
        return [one for one in self.keys if one.verdict == verdict]

    @property
    def verdict(self) -> str:
        """A sentence with the result."""
        low, high = self.limits
        count = f"{low:,} to {high:,}" if low < high else f"{low:,}"
        return (
            f"Of {self.items:,} keys, {count} are wrong ({percent_span(self.rate_interval)} %; "
            f"95 % interval): people checked {len(self.keys):,} keys, found "
            f"{len(self.filter_keys('wrong')):,} to be wrong, and reached no agreement on "
            f"{len(self.filter_keys('undecided')):,}."
        )

    @property
    def errata(self) -> list[Erratum]:
        """Errata that correct the wrong keys, followed by errata that confirm the sound keys.

        Items are omitted if two options have the text that judges chose.
        """
        who = "judges, who did not see the key"
        return [
            Erratum(one.id, one.item.key, one.chosen, f"{one.agreement} {who}")
            for one in (*self.filter_keys("wrong"), *self.filter_keys("sound"))
            if one.chosen is not None and one.item.options.count(one.item.options[one.chosen]) == 1
        ]


def estimate_wrong_keys(check: KeyCheck, responses: Iterable[Response]) -> WrongKeys:
    """Estimate the number of wrong keys, with an exact 95 % interval.

    The judges' verdicts are taken as correct: the interval is for the number of keys that such
    judges would find wrong if they checked all items.

    Args:
        check: the drawn items.
        responses: answers of the judges.

    Raises:
        DataError: no answer belongs to a drawn item, an answer is not an option of its item, a
            judge answered an item twice, or the judges don't agree on any item of a stratum.
    """
    responses = tuple(one for one in responses if one.purpose != "local")
    keys = judge_keys(check, responses)
    counts = []
    for number, stratum in enumerate(check.strata):
        own = Counter(one.verdict for one in keys if one.item.stratum == number)
        if not own["wrong"] + own["sound"]:
            raise DataError(
                f"the number of wrong keys of {stratum.name} can't be estimated, because no two "
                f"judges agree on any of the {stratum.drawn} items"
            )
        counts.append((own["wrong"], own["undecided"]))
    limits = _bound_strata(check.strata, counts)
    strata = tuple(
        StratumResult(stratum.name, stratum.items, stratum.drawn, *count, both)
        for stratum, count, both in zip(check.strata, counts, limits, strict=True)
    )
    (low, high), rest = limits[0], limits[1:]
    least, most = (sum(ends[at] for ends in rest) for at in (0, 1))
    seen: tuple[float, float] | None = None
    visibility: tuple[float, float] | None = None
    if rest and low + least:
        seen = low / (low + most), high / (high + least)
        if check.planted:
            visibility = seen[0] / check.planted, seen[1] / check.planted
    asked = {name for item in check.items for name in (item.asked, item.site)}
    return WrongKeys(
        items=sum(stratum.items for stratum in check.strata),
        people=len({one.participant for one in responses if one.problem_id in asked}),
        limits=(low + least, high + most),
        strata=strata,
        keys=keys,
        seen=seen,
        visibility=visibility,
    )


def _bound_strata(
    strata: Sequence[Stratum], counts: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    sampled = sum(stratum.drawn < stratum.items for stratum in strata)
    return [
        (
            bound_marked_items(one.items, one.drawn, wrong, _TAIL / max(1, sampled))[0],
            bound_marked_items(one.items, one.drawn, wrong + open_, _TAIL / max(1, sampled))[1],
        )
        for one, (wrong, open_) in zip(strata, counts, strict=True)
    ]


@lru_cache(4096)
def bound_marked_items(items: int, sample_size: int, marked: int, alpha: float) -> tuple[int, int]:
    """Compute exact confidence limits on the number of marked items in a population.

    `alpha` is the maximum probability that the lower limit is too high, and that the upper limit is
    too low. See Katz (1953).

    >>> bound_marked_items(1000, 100, 0, 0.025)
    (0, 34)
    """
    from scipy.stats import hypergeom

    possible = range(marked, items - sample_size + marked + 1)
    low = bisect_left(
        possible, True, key=lambda M: hypergeom.sf(marked - 1, items, M, sample_size) > alpha
    )
    beyond = bisect_left(
        possible, True, key=lambda M: hypergeom.cdf(marked, items, M, sample_size) <= alpha
    )
    return possible[low], possible[beyond - 1]
