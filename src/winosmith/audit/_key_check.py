"""The number of wrong keys, estimated from the judgements of people on a random sample.

Before anybody judges, the items with a key are divided into two strata: the first suspects by rank,
which are all checked, and all other items, of which a random sample is checked. Judges see neither
keys nor models' answers nor strata. A key is wrong if the judges agree on another option.

Of a stratum of N items, n are checked, and x of these have a wrong key. The number M of wrong keys
in the stratum has the exact limits (Katz 1953)

    lower: the least M with P(X ≥ x | M) > α,    upper: the greatest M with P(X ≤ x | M) > α,

where X is hypergeometric with N, M and n. α is .025 / H for the H strata of which only a sample is
checked. All limits are then correct at once in at least 95 of 100 samples, and so are their sums.
An undecided item counts as sound in the lower limit and as wrong in the upper one.

The usual normal interval of the Horvitz-Thompson estimate is too narrow, since few checked items
have wrong keys: with 100 checks of 2,000 items, 20 of them with a wrong key, it has this number in
42 % of 1,000 samples, and the limits above in 99 % (`benchmarks/bench_key_check.py`).

A quarter of the checks goes to the suspects. More would correct more keys, but raise the upper
limit, which depends on the number of checks among all other items.
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

from winosmith.audit._triage import Suspect, problems_for_people
from winosmith.dataset import Dataset, Filtered
from winosmith.errors import DataError, FormatError
from winosmith.formats import Erratum
from winosmith.options import declaration, from_table
from winosmith.problem import Extra
from winosmith.records import parse_json
from winosmith.report import span
from winosmith.response import Response
from winosmith.results import HIDDEN, IF_ANY, Result, computed, shown

SUSPECTS_IN = 4
"""One check in this many is of a suspect."""

MIN_CHECKS = 10
"""With fewer checks, the upper limit is more than a third of all keys."""

_ERROR = 0.025
"""Greatest probability that a sum of limits is above the true number, or below it."""

_AGREE = 2
"""The least number of judges who agree on a verdict."""

Verdict = Literal["wrong", "sound", "undecided"]


@declaration
class Stratum:
    """Items of which some are drawn to be checked."""

    name: str
    """Name, in words."""
    items: Annotated[int, Field(ge=1)]
    """Number of items."""
    drawn: Annotated[int, Field(ge=1)]
    """Number of items that people check."""


@declaration
class DrawnItem:
    """An item that people check."""

    asked: str
    """Its id on test sheets, which reveals nothing; the same for copies, which are asked once."""
    id: str
    """Its id in the data."""
    stratum: Annotated[int, Field(ge=0)]
    """The number of its stratum, from 0."""
    options: tuple[str, ...]
    """Its options."""
    key: Annotated[int, Field(ge=0)]
    """Its key in the data, an option from 0."""
    other: Annotated[int, Field(ge=0)] | None = None
    """The option that models propose, from 0, if it is a suspect."""
    site: str = ""
    """Its id on the site, if it was sent to one."""


@declaration
class KeyCheck:
    """A random sample of items whose keys people check.

    It has the keys, so it is kept from the judges until they are done.
    """

    data: str
    """Digest of the data."""
    seed: Annotated[int, Field(ge=0)]
    """Random seed of the sample."""
    strata: Annotated[tuple[Stratum, ...], Field(min_length=1)]
    """The strata; each item with a key is in one."""
    items: Annotated[tuple[DrawnItem, ...], Field(min_length=1)]
    """The drawn items, in the random order in which they are asked."""
    planted: Annotated[float, Field(ge=0, le=1)] | None = None
    """Fraction of planted wrong keys that rank as high as the suspects of the first stratum, if
    known."""

    def __post_init__(self) -> None:
        drawn = Counter(item.stratum for item in self.items)
        for number, stratum in enumerate(self.strata):
            if drawn.pop(number, 0) != stratum.drawn or stratum.drawn > stratum.items:
                raise DataError(f"the items drawn from {stratum.name!r} are not {stratum.drawn}")
        if drawn:
            raise DataError(f"there is no stratum {next(iter(drawn))}")
        if odd := [one for one in self.items if max(one.key, one.other or 0) >= len(one.options)]:
            raise DataError(f"the key of {odd[0].id!r} is not one of its options")

    @property
    def most_if_none(self) -> int:
        """The upper limit of the number of wrong keys if people find none."""
        return sum(high for _, high in _stratum_limits(self.strata, [(0, 0)] * len(self.strata)))


def draw_check(
    data: Dataset,
    suspects: Sequence[Suspect],
    n: int,
    *,
    seed: int = 0,
    planted: Sequence[float] = (),
) -> KeyCheck:
    """Draw the items whose keys people check.

    A quarter of them are the first suspects by rank; the others are drawn at random from all other
    items with a key.

    Args:
        data: the items.
        suspects: items whose keys may be wrong, the most doubtful first; empty without models.
        n: number of checks, at least 10; at most all items are drawn.
        seed: random seed of the sample and of its order.
        planted: rank of each of some planted wrong keys, as the fraction of untouched items that
            rank higher, 0–1; empty if unknown.

    Raises:
        DataError: fewer than 10 items would be drawn.

    >>> from winosmith import Problem
    >>> data = Dataset(Problem(f"q{at}", f"Which is {at}? _", ("a", "b"), 0) for at in range(90))
    >>> check = draw_check(data, [Suspect("q7", 1, 0.9, 3), Suspect("q2", 1, 0.8, 3)], 20)
    >>> [(stratum.name, stratum.items, stratum.drawn) for stratum in check.strata]
    [('the first 2 suspects', 2, 2), ('all other items', 88, 18)]
    """
    rows = {problem.id: row for row, problem in enumerate(data) if problem.answer is not None}
    n = min(n, len(rows))
    if n < MIN_CHECKS:
        raise DataError(
            f"{n} items with a key can't be a sample: at least {MIN_CHECKS} must be checked"
        )
    first = [one.id for one in suspects if one.id in rows][: n // SUSPECTS_IN]
    rest = sorted(rows.keys() - {*first})
    rng = np.random.default_rng([seed, 11])
    sample = rng.choice(len(rest), n - len(first), replace=False).tolist()
    drawn = [*first, *(rest[at] for at in sample)]
    strata = [Stratum("all other items" if first else "all items", len(rest), len(sample))]
    if first:
        strata.insert(0, Stratum(f"the first {len(first)} suspects", len(first), len(first)))
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
    as_high = float(np.mean(np.asarray(planted) <= len(first) / len(rows))) if planted else None
    return KeyCheck(
        data=data.digest,
        seed=seed,
        strata=tuple(strata),
        items=tuple(items),
        planted=as_high if first else None,
    )


def check_problems(check: KeyCheck, data: Dataset, *, site: bool = False) -> Filtered:
    """Return the drawn items as problems for judges, with ids that reveal nothing.

    Judges get no key, origin or field of the data. A site compares the votes with the key, so there
    the problems have it; its pages don't show it.

    Args:
        check: the drawn items.
        data: the data that they were drawn from.
        site: whether the problems are for a site; see `problems_for_people`.

    Raises:
        DataError: the data has no item of such an id.
    """
    first: dict[str, str] = {}
    for item in check.items:
        first.setdefault(item.asked, item.id)
    asked = {name: number for number, name in first.items()}
    passed = problems_for_people(data, [*asked], plain=site)
    twins: dict[str, str] = {}
    for problem in passed.kept:
        if problem.twin_id is not None:
            twins.setdefault(problem.twin_id, f"t{len(twins) + 1}")
    kept = Dataset(
        (
            replace(
                problem,
                id=asked[problem.id],
                answer=problem.answer if site else None,
                twin_id=twins.get(problem.twin_id or ""),
                origin=None,
                extra=Extra(),
            )
            for problem in passed.kept
        ),
        f"check {check.data} {check.seed} {len(check.items)}",
    )
    return replace(passed, kept=kept)


def check_record(check: KeyCheck) -> dict[str, Any]:
    """Return a check as the JSON that `read_check` reads."""
    return {"winosmith": "key check", **asdict(check)}


def read_check(path: str | Path) -> KeyCheck:
    """Read the private file of a check.

    Raises:
        FormatError: it can't be read, or is not such a file.
    """
    path = Path(path)
    try:
        record = parse_json(path.read_text("utf-8"))
        if not isinstance(record, dict) or record.pop("winosmith", None) != "key check":
            raise DataError("this is not a file of `winosmith audit --check`")
        return from_table(KeyCheck, record)
    except (OSError, ValueError) as error:
        raise FormatError(str(error), path) from error


@dataclass(frozen=True, slots=True)
class JudgedKey(Result):
    """The verdict of the judges on a key.

    Attributes:
        item: the item.
        verdict: "wrong" if the judges agree on another option, "sound" if on the key, otherwise
            "undecided".
        chosen: the option on which most judges agree, from 0; None if there is none.
        agree: number of judges who chose it.
        judges: number of judges who answered.
    """

    item: DrawnItem = field(metadata=HIDDEN)
    verdict: Verdict = field(metadata={"columns": ()})
    chosen: int | None = field(metadata=HIDDEN)
    agree: int = field(metadata=HIDDEN)
    judges: int = field(metadata=HIDDEN)

    @property
    @computed(**shown("item"))
    def id(self) -> str:
        """The id of the item in the data."""
        return self.item.id

    @property
    @computed(**shown("key"))
    def key(self) -> str:
        """The text of the key in the data."""
        return self.item.options[self.item.key]

    @property
    @computed(**shown("judges chose"))
    def choice(self) -> str | None:
        """The text of the option that most judges chose."""
        return None if self.chosen is None else self.item.options[self.chosen]

    @property
    @computed(**shown("models chose"))
    def proposed(self) -> str | None:
        """The text of the option that models propose."""
        return None if self.item.other is None else self.item.options[self.item.other]

    @property
    @computed(**shown("judges"))
    def votes(self) -> str:
        """The number of judges who agree, in words."""
        return f"{self.agree} of {self.judges}"


def judge_keys(check: KeyCheck, responses: Iterable[Response]) -> tuple[JudgedKey, ...]:
    """Return the verdict on each drawn key, in the order in which the items were asked.

    Judges agree if at least two of them, and more than half, choose the same option. A judge who
    finds an item ambiguous chooses none. Answers to other items, and to the local context only, are
    ignored.

    Args:
        check: the drawn items.
        responses: answers of the judges, from test sheets or a site.

    Raises:
        DataError: no answer is to a drawn item, an answer is not an option of its item, or a judge
            answered an item twice.
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
                f"{who!r} chose option {choice + 1} of {item.id!r}, which has {len(item.options)}"
            )
        said[item.asked][who] = choice
    if not any(said.values()):
        raise DataError(
            "none of the answers is to an item of this check; are they of another check?"
        )
    return tuple(_judge_item(item, [*said[item.asked].values()]) for item in check.items)


def _judge_item(item: DrawnItem, answers: Sequence[int | None]) -> JudgedKey:
    # Options with one text are one option.
    same = [item.options.index(text) for text in item.options]
    votes = Counter(same[choice] for choice in answers if choice is not None)
    chosen, agree = votes.most_common(1)[0] if votes else (None, 0)
    verdict: Verdict = "undecided"
    if agree >= _AGREE and 2 * agree > len(answers):
        verdict = "sound" if chosen == item.key else "wrong"
    return JudgedKey(item, verdict, chosen, agree, len(answers))


@dataclass(frozen=True, slots=True)
class StratumResult(Result):
    """The wrong keys of a stratum.

    Attributes:
        name: the stratum, in words.
        items: number of its items.
        checked: number of items that were given to judges.
        wrong: number of these with a wrong key.
        undecided: number of these on which judges don't agree.
        limits: limits of the number of wrong keys among its items; those of all strata are correct
            at once in at least 95 of 100 samples.
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
    @computed(**shown("fraction", span))
    def precision(self) -> tuple[float, float]:
        """The limits of the fraction of wrong keys, 0–1: for suspects, the ranking's precision."""
        return self.limits[0] / self.items, self.limits[1] / self.items


@dataclass(frozen=True)
class WrongKeys(Result):
    """The number of wrong keys in a data set, from the judgements of people.

    Attributes:
        items: number of items with a key.
        people: number of judges.
        limits: the 95 % interval of the number of wrong keys.
        strata: the strata of the sample.
        keys: the verdict on each item.
        seen: the 95 % interval of the fraction of all wrong keys that are in the first stratum,
            0–1; None if there is one stratum, or all keys may be sound.
        visibility: the 95 % interval of v, which is `seen` divided by the same fraction of planted
            wrong keys (`KeyCheck.planted`); None if either is unknown.
    """

    items: int
    people: int
    limits: tuple[int, int]
    strata: tuple[StratumResult, ...]
    keys: tuple[JudgedKey, ...] = field(metadata={"rows": True})
    seen: tuple[float, float] | None = field(metadata=IF_ANY)
    visibility: tuple[float, float] | None = field(metadata=IF_ANY)

    @property
    @computed()
    def rate(self) -> tuple[float, float]:
        """The 95 % interval of the fraction of wrong keys, 0–1."""
        return self.limits[0] / self.items, self.limits[1] / self.items

    @property
    @computed()
    def as_proposed(self) -> int:
        """The number of wrong keys for which judges chose the option that models propose."""
        return sum(one.chosen == one.item.other for one in self.with_verdict("wrong"))

    def with_verdict(self, verdict: Verdict) -> list[JudgedKey]:
        """Return the keys with a verdict, in the order in which they were asked."""
        return [one for one in self.keys if one.verdict == verdict]

    @property
    def verdict(self) -> str:
        """The result as a sentence."""
        low, high = self.limits
        count = f"{low:,} to {high:,}" if low < high else f"{low:,}"
        return (
            f"Of {self.items:,} keys, {count} are wrong ({span(self.rate)} %; 95 % interval): "
            f"people found {len(self.with_verdict('wrong')):,} wrong keys among {len(self.keys):,} "
            f"and agreed on no option in {len(self.with_verdict('undecided')):,}."
        )

    @property
    def errata(self) -> list[Erratum]:
        """The decided keys: the wrong ones with their correction, then the confirmed ones.

        Keys with two options of the judges' text are omitted, since neither could be the key.
        """
        return [
            Erratum(
                one.id, one.item.key, one.chosen, f"{one.votes} judges, who did not see the key"
            )
            for one in (*self.with_verdict("wrong"), *self.with_verdict("sound"))
            if one.chosen is not None and one.item.options.count(one.item.options[one.chosen]) == 1
        ]


def count_wrong_keys(check: KeyCheck, responses: Iterable[Response]) -> WrongKeys:
    """Return the interval of the number of wrong keys; see the module.

    The verdicts of the judges are taken as correct: the interval is of the number of keys that such
    judges would find wrong if they checked all items.

    Args:
        check: the drawn items.
        responses: answers of the judges.

    Raises:
        DataError: see `judge_keys`; or the judges agree on no item of a stratum.
    """
    responses = tuple(responses)
    keys = judge_keys(check, responses)
    counts = []
    for number, stratum in enumerate(check.strata):
        own = Counter(one.verdict for one in keys if one.item.stratum == number)
        if not own["wrong"] + own["sound"]:
            raise DataError(
                f"there is no verdict on {stratum.name}, so the number of their wrong keys is "
                f"unknown: on none of {stratum.drawn} items do two judges agree"
            )
        counts.append((own["wrong"], own["undecided"]))
    limits = _stratum_limits(check.strata, counts)
    strata = tuple(
        StratumResult(stratum.name, stratum.items, stratum.drawn, *count, both)
        for stratum, count, both in zip(check.strata, counts, limits, strict=True)
    )
    (low, high), rest = limits[0], limits[1:]
    seen = None
    if rest and low + sum(least for least, _ in rest):
        seen = (
            low / (low + sum(most for _, most in rest)),
            high / (high + sum(least for least, _ in rest)),
        )
    asked = {name for item in check.items for name in (item.asked, item.site)}
    return WrongKeys(
        items=sum(stratum.items for stratum in check.strata),
        people=len({one.participant for one in responses if one.problem_id in asked}),
        limits=(sum(least for least, _ in limits), sum(most for _, most in limits)),
        strata=strata,
        keys=keys,
        seen=seen,
        visibility=(seen[0] / check.planted, seen[1] / check.planted)
        if seen and check.planted
        else None,
    )


def _stratum_limits(
    strata: Sequence[Stratum], counts: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Return the limits of the number of wrong keys of each stratum.

    Args:
        strata: the strata.
        counts: the number of wrong keys and of undecided ones among those drawn from each.
    """
    sampled = sum(stratum.drawn < stratum.items for stratum in strata)
    return [
        (
            hypergeometric_limits(one.items, one.drawn, wrong, _ERROR / max(1, sampled))[0],
            hypergeometric_limits(one.items, one.drawn, wrong + open_, _ERROR / max(1, sampled))[1],
        )
        for one, (wrong, open_) in zip(strata, counts, strict=True)
    ]


@lru_cache(4096)
def hypergeometric_limits(items: int, drawn: int, found: int, alpha: float) -> tuple[int, int]:
    """Return the exact limits of the number of marked items in a population (Katz 1953).

    Args:
        items: size of the population.
        drawn: size of the random sample.
        found: number of marked items in it.
        alpha: greatest probability that the lower limit is too high, and that the upper one is too
            low.

    >>> hypergeometric_limits(1000, 100, 0, 0.025), hypergeometric_limits(100, 100, 3, 0.025)
    ((0, 34), (3, 3))
    """
    from scipy.stats import hypergeom

    possible = range(found, items - drawn + found + 1)
    low = bisect_left(
        possible, True, key=lambda M: hypergeom.sf(found - 1, items, M, drawn) > alpha
    )
    beyond = bisect_left(
        possible, True, key=lambda M: hypergeom.cdf(found, items, M, drawn) <= alpha
    )
    return possible[low], possible[beyond - 1]
