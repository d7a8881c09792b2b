"""The audit of a set: each split separately, and the items that splits share."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from typing import Annotated, Any

from pydantic import Field

from winosmith import formats
from winosmith._version import __version__
from winosmith.answers import Answers
from winosmith.audit._battery import (
    LEAST_DRAWS,
    Battery,
    Found,
    battery,
    in_percent,
    p_in_words,
)
from winosmith.audit._classes import class_cues
from winosmith.audit._cues import CUES, Cue
from winosmith.audit._items import Items, Step, report_progress
from winosmith.audit._overlap import Overlap
from winosmith.audit._probes import ASKED, SEEN, Probe, probes
from winosmith.audit._review import Declared, Review, find_shared, review, shared_sentence
from winosmith.audit._triage import Triage, triage
from winosmith.dataset import Dataset
from winosmith.embed import TextEmbedder
from winosmith.errors import DataError, InputError
from winosmith.metrics import detectable_differences
from winosmith.options import Seed, declaration
from winosmith.report import Svg, joined, percent, sign
from winosmith.results import HIDDEN, IF_ANY, Result, computed
from winosmith.text import pieces


@declaration
class AuditSettings:
    """How cues and models are compared with chance."""

    draws: Annotated[int, Field(ge=LEAST_DRAWS, le=1_000_000)] = 1000
    """Initial number of random draws for the p-values of cues; p is at least 1 / (1 + draws). Draws
    are added, up to 20,000, until it is clear whether p is below 0.05."""
    probe_draws: Annotated[int, Field(ge=0)] = 200
    """Number of random draws for the p-values of the models of words; 0 skips these models."""
    seed: Seed = 0
    """Random seed."""


@dataclass(frozen=True)
class Part(Result):
    """The audit of one split.

    Attributes:
        name: name of the split.
        dataset: its items.
        items: its items with a key, as cues and probes see them.
        battery: the scores of the cues; see `Found`.
        probes: of words that see the options, the question, and both, and then of vectors; empty
            if there are too few items.
        review: the other findings.
        refused: place and reason of each record of the file that is not an item.
        triage: the findings from models' answers; None without answers to this split.
        overlap: the parts that occur in a collection of texts; None without texts.
        declared: its licence and its canary; None if the file is not known.
        sampled: number of items that the probes saw, if they did not see all.
    """

    name: str = field(metadata=HIDDEN)
    dataset: Dataset = field(metadata={"key": "items", "json": len})
    items: Items = field(metadata={"key": "with_key", "json": len})
    battery: Battery = field(metadata={"json": "flat", "rows": True})
    probes: tuple[Probe, ...]
    review: Review
    refused: tuple[str, ...] = field(
        default=(), metadata={"json": lambda left: {"count": len(left), "examples": left[:5]}}
    )
    triage: Triage | None = field(default=None, metadata={"key": "answers"})
    overlap: Overlap | None = field(default=None, metadata={"key": "texts"})
    declared: Declared | None = None
    sampled: int = field(default=0, metadata=IF_ANY)

    @property
    def learnable(self) -> bool:
        """Whether there are enough blocks for a probe to learn from."""
        return learnable(self.items)

    @property
    @computed()
    def chance(self) -> float:
        """The accuracy of guessing, 0–1."""
        return self.items.chance

    @property
    @computed()
    def digest(self) -> str:
        """The digest of the items."""
        return self.dataset.digest

    @cached_property
    @computed(json=lambda of: [{"differ": psi, "difference": least} for psi, least in of])
    def detectable(self) -> tuple[tuple[float, float | None], ...]:
        """The smallest detectable difference between two models, by the fraction that differ."""
        return detectable_differences(Dataset(self.items.problems))

    @property
    def best(self) -> Found | None:
        """The flagged cue that scores most above chance; None if no cue is flagged."""
        return self.battery.flagged[0] if self.battery.flagged else None

    @property
    def significant(self) -> tuple[Probe, ...]:
        """The probes that predict better than chance, at 0.05 over all of them (Bonferroni)."""
        return tuple(probe for probe in self.probes if probe.p <= 0.05 / len(self.probes))

    def charts(self) -> list[Svg]:
        """Return the chart of the cues."""
        return self.battery.charts(f"Cues of {self.name}")

    def verdict(self) -> Iterator[str]:
        """Yield the first sentences: the best prediction without reading, and its p-value."""
        if leaks := self.review.leaks:
            worst = max(leaks, key=lambda leak: leak.accuracy * leak.problems)
            yield f"{self.name} gives answers away by a field: {worst}."
        best, scores = self.best, self.battery
        items, tried = f"{len(self.items):,} items", len(scores.found)
        if best is not None:
            yield (
                f"{self.name} gives answers away: choosing “{best.cue}” is correct for "
                f"{in_percent(best.right)} of {items} (expected by chance: "
                f"{in_percent(best.expected)}; {p_in_words(best.p, scores.draws)}, "
                f"corrected for {tried} cues)."
            )
            return
        if self.significant:
            blind = max(self.significant, key=lambda probe: probe.right)
            yield (
                f"No cue of {self.name} is flagged, but a {blind.model} is correct for "
                f"{in_percent(blind.right)} of {items} (expected by chance: "
                f"{in_percent(blind.expected)}; {p_in_words(blind.p, blind.draws)})."
            )
            return
        first = scores.found[0]
        figures = (
            f"correct for {in_percent(first.right)} of {items} (chance limit: "
            f"{in_percent(first.high)}; {p_in_words(first.p, scores.draws)})."
        )
        if scores.borderline:
            yield (
                f"It is borderline whether {self.name} gives answers away: {scores.draws:,} random "
                f"draws can't decide about “{first.cue}”, {figures}"
            )
        else:
            yield (
                f"No cue of {self.name} is flagged. The strongest of {tried} is “{first.cue}”, "
                f"{figures}"
            )


@dataclass(frozen=True)
class Check:
    """A question about a split that is answered with a list of items.

    Attributes:
        title: the findings, in the plural.
        find: returns the ids of items, or of groups of items; for fields and for records that are
            not items, a sentence on each; None if there are too few items to find any.
        rule: its name in `Audit.failures`; empty if it has none.
    """

    title: str
    find: Callable[[Part], Sequence[Sequence[str]] | None]
    rule: str = ""

    def examples(self, found: Sequence[Sequence[str]], most: int = 3) -> str:
        """Return the first findings in words.

        >>> Check("", lambda part: ()).examples([("0", "240"), ("3", "5")])
        '0 and 240; 3 and 5'
        """
        if all(len(ids) == 1 for ids in found):
            return joined([ids[0] for ids in found], most)
        more = [f"{len(found) - most:,} more"] * (len(found) > most)
        return "; ".join([*map(joined, found[:most]), *more])

    def failures(self, part: Part, _: float = 0.0) -> list[str]:
        """Return a sentence on the findings, or on each leak, as a rule of `Audit.failures`."""
        found = self.find(part)
        if self.rule == "leak":
            return [sentence for (sentence,) in found or ()]
        return [f"{self.title}: {len(found):,} ({self.examples(found, 1)})"] if found else []


def _each(name: str) -> Callable[[Part], Sequence[Sequence[str]]]:
    return lambda part: [(one,) for one in getattr(part.review, name)]


CHECKS = (
    Check("groups of identical items", lambda part: part.review.copies.groups, "duplicates"),
    Check(
        "groups of identical items with different keys",
        lambda part: part.review.copies.contradictions,
        "contradictions",
    ),
    Check(
        "fields that reveal the key",
        lambda part: (
            None if part.review.leaks is None else [(str(leak),) for leak in part.review.leaks]
        ),
        "leak",
    ),
    Check("pairs of nearly identical items", lambda part: part.review.alike),
    Check(
        "pairs of nearly identical items with different answers",
        lambda part: part.review.differing,
    ),
    Check("items with equal options (except case or a final mark)", _each("equal"), "options"),
    Check("items with another number of options than most", _each("uneven")),
    Check("items with an unfilled field of a template", _each("unfilled")),
    Check("records that are not items", lambda part: [(one,) for one in part.refused], "refused"),
)
"""The questions that are answered with a list of items."""


def _shared_record(
    of: Mapping[tuple[str, str], tuple[tuple[str, str], ...]],
) -> list[dict[str, Any]]:
    return [
        {"splits": names, "count": len({other for _, other in pairs}), "examples": pairs[:5]}
        for names, pairs in of.items()
    ]


@dataclass(frozen=True)
class Audit(Result):
    """The artifacts that give the answers of a set away.

    Attributes:
        parts: one for each split.
        shared: for two splits, the pairs of ids that are copies or near-duplicates.
        seed: of all draws.
        embedder: the parameters of the vectors that were probed; empty if none were.
        version: of winosmith.
    """

    parts: tuple[Part, ...] = field(
        metadata={
            "key": "splits",
            "json": lambda parts: {part.name: part for part in parts},
            "rows": True,
        }
    )
    shared: Mapping[tuple[str, str], tuple[tuple[str, str], ...]] = field(
        metadata={"json": _shared_record}
    )
    seed: int
    embedder: Mapping[str, Any] = field(
        default_factory=dict, metadata={"json": lambda known: known or None}
    )
    version: str = __version__

    @property
    @computed()
    def line(self) -> str:
        """One line for a README: the accuracy without reading, in each split."""
        return f"Audited by winosmith {__version__}: " + "; ".join(map(_summary, self.parts))

    @property
    def signature(self) -> str:
        """The parameters that determine the numbers."""
        return "; ".join(
            f"{part.name}: "
            f"{sign(part.dataset, self.seed, draws=part.battery.draws, **self.embedder)}"
            for part in self.parts
        )

    def sentences(self) -> list[str]:
        """Return the verdict on each split, the null, and the conditions."""
        return [
            *(sentence for part in self.parts for sentence in part.verdict()),
            "By chance: the positions of the keys are permuted among the items, or drawn uniformly "
            "for cues of position; copies and twins are drawn together.",
            f"Conditions: {self.signature}.",
        ]

    def charts(self) -> list[Svg]:
        """Return the chart of each split's cues."""
        return [chart for part in self.parts for chart in part.charts()]

    def failures(self, rules: str) -> list[str]:
        """Return a sentence for each finding that breaks a rule.

        Args:
            rules: separated by commas. `cue=3pt`: a cue is flagged that scores 3 points or more
                above its expected value. `borderline`: a cue is borderline. `probe=3pt`: a
                significant probe scores 3 points or more above its expected value. `duplicates`:
                identical items, in a split or across. `contradictions`: identical items with
                different keys. `leak`: a field gives answers away, or splits share items.
                `options`: items with options that are equal except for case or a final mark.
                `refused`: records that are not items. `texts`: a question is in the texts.
                `licence`, `canary`: none is declared.

        Raises:
            InputError: a rule is unknown.

        >>> from winosmith.testing import made_twins
        >>> audit(made_twins(40), draws=50).failures("cue=3pt,duplicates")
        []
        """
        found = []
        for name, points in parse_rules(rules):
            for part in self.parts:
                found += [f"{part.name}: {sentence}" for sentence in _RULES[name](part, points)]
            if name in ("leak", "duplicates"):
                found += [shared_sentence(*names, pairs) for names, pairs in self.shared.items()]
        return list(dict.fromkeys(found))


def audit(
    data: Dataset | formats.Readable | Mapping[str, Dataset | formats.Readable],
    *,
    cues: Sequence[Cue] = CUES,
    embedder: TextEmbedder | None = None,
    refused: Mapping[str, Sequence[str]] | None = None,
    answers: Mapping[str, Answers] | None = None,
    texts: Mapping[str, Overlap] | None = None,
    declared: Mapping[str, Declared] | None = None,
    sample: int = 0,
    step: Step = lambda _: None,
    **settings: Any,
) -> Audit:
    """Audit a set of any multiple-choice items: find the artifacts that give its answers away.

    Args:
        data: the items, with their answers, as a data set or as `formats.read` takes them; or
            splits by their names.
        cues: rules that select an option without reading; `[*CUES, Cue(...)]` adds one. If options
            are classes, `class_cues` are added.
        embedder: of texts, such as `embed.EncoderEmbedder`; its vectors are probed next to words.
        refused: by split, the records of its file that are not items.
        answers: of models; ids are unique across the splits.
        texts: by split, its parts that occur in a collection of texts; see `overlap`. It adds cues.
        declared: by split, its licence and its canary; see `find_declared`.
        sample: number of items of each split that the probes see, drawn at random in whole blocks;
            0 for all. Cues always see all items.
        step: is called with the next step.
        settings: `draws`, `probe_draws` and `seed`, the attributes of `AuditSettings`.

    Raises:
        DataError: a split without a single key, two cues of one name, a cue whose scores don't
            fit, or answers none of which is for an item.
        RecipeError: a setting is unknown or out of range.

    >>> from winosmith import Problem
    >>> data = Dataset(Problem(f"{n}", f"Cup {n} hit _.", ("jug", "cup"), int(n % 5 > 0))
    ...                for n in range(200))
    >>> found = audit(data, probe_draws=0).parts[0].best
    >>> found.cue, found.right
    ('the second', 0.8)
    """
    how = AuditSettings(**settings)
    splits = formats.splits_of(data)
    names = [cue.name for cue in cues]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None or not cues:
        raise DataError(f"two cues are named {twice!r}" if twice else "there is no cue to try")
    parts = []
    for name, dataset in splits.items():
        memory = _memory_note(
            dataset, probes=how.probe_draws > 0, vectors=embedder is not None, sample=sample
        )
        step(f"{name}: cues{memory}")
        try:
            items = Items.of(dataset)
        except DataError as error:
            raise DataError(f"{name}: {error}") from None
        overlap = texts.get(name) if texts else None
        tried = [*cues, *class_cues(dataset), *(overlap.cues if overlap else ())]
        readable = items.readable(tried)
        items.picked(readable, report_progress(step, f"{name}: cues", len(items), "items"))
        scores = battery(items, tried, draws=how.draws, seed=how.seed)
        probed: tuple[Probe, ...] = ()
        of_vectors = f"{name}: vectors of questions and options"
        kinds = [(None, f"{name}: probes"), *([(embedder, of_vectors)] if embedder else [])]
        seen = items.sample(sample, how.seed)
        for kind, what in kinds if how.probe_draws and learnable(seen) else ():
            step(what)
            tell = report_progress(step, what, len(SEEN) * how.probe_draws, "draws")
            probed += probes(seen, kind, draws=how.probe_draws, seed=how.seed, tell=tell)
        step(f"{name}: copies, fields, splits")
        found = review(dataset, how.seed, lambda what, name=name: step(f"{name}: {what}"))  # type: ignore[misc]
        models = triage(items, answers) if answers is not None else None
        if models and answers and not models.models:
            models = None  # they answered another split
        parts.append(
            Part(
                name,
                dataset,
                items,
                scores,
                probed,
                found,
                tuple((refused or {}).get(name, ())),
                models,
                overlap,
                (declared or {}).get(name),
                len(seen) if probed and seen is not items else 0,
            )
        )
    if answers and not any(part.triage for part in parts):
        raise DataError(FOREIGN)
    if len(splits) > 1:
        step("items in several splits")
    known = embedder.parameters if embedder is not None else {}
    determined = {name: value for name, value in known.items() if name != "combine"}  # of problems
    return Audit(tuple(parts), find_shared(splits, step), how.seed, determined)


FOREIGN = "no answer has the id of an item; are the answers for another data set?"
"""The error for answers to other items."""

_OPTION, _WORD, _PAIR, _VECTOR = 700, 34, 32, 9_400
"""Bytes of memory for an option, a word of an item, a pair of a question's and an option's word,
and an option's vectors of 512 numbers, as measured."""

_SAMPLE = 20_000
"""The size of the sample that the note suggests."""

_COUNTED = 10_000
"""Number of items, at most, whose words are counted to estimate the memory."""


def _memory_note(dataset: Dataset, *, probes: bool, vectors: bool = False, sample: int = 0) -> str:
    """Return the memory that a large set needs, and how to need less; "" for others."""
    some = dataset.problems[:: 1 + len(dataset) // _COUNTED]
    cues = learnt = 0
    for problem in some:
        asked, said = len(pieces(problem.sentence)), sum(map(len, map(pieces, problem.options)))
        cues += _OPTION * len(problem.options) + _WORD * (asked + said)
        learnt += _PAIR * (2 + min(asked, ASKED)) * said + _VECTOR * len(problem.options) * vectors
    scale = len(dataset) / max(1, len(some)) / 2**30
    share = min(1.0, sample / max(1, len(dataset))) if sample else 1.0
    needed = (cues + learnt * probes * share) * scale
    if needed < 2:
        return ""
    less = f"; {cues * scale:.1f} GiB with `probe_draws=0`" if probes else ""
    less += f"; less with `sample={_SAMPLE}`" * (probes and share == 1.0)
    return f" (this needs about {needed:.0f} GiB of memory{less})"


LEAST = 50
"""The least number of blocks that a probe can learn from."""


def learnable(items: Items) -> bool:
    """Return whether items are in enough blocks for a probe to learn from."""
    return items.blocks >= LEAST


def _summary(part: Part) -> str:
    found = [f"{leak.field} reveals the key" for leak in part.review.leaks or ()]
    if part.best:
        found.append(f"“{part.best.cue}” is correct for {percent(part.best.right)}")
    elif part.battery.borderline:
        first = part.battery.borderline[0]
        found.append(f"“{first.cue}”, correct for {percent(first.right)}, is borderline")
    else:
        found.append("no cue is flagged")
    if part.significant:
        probe = max(part.significant, key=lambda one: one.right)
        found.append(f"a {probe.model} is correct for {percent(probe.right)}")
    return (
        f"{part.name}: {'; '.join(found)} (chance: {percent(part.items.chance)}, "
        f"n = {len(part.items):,})"
    )


def parse_rules(rules: str) -> list[tuple[str, float]]:
    """Return the name of each rule of `Audit.failures`, and its points, 0–1.

    Raises:
        InputError: a rule is unknown; the message lists all.

    >>> parse_rules("cue=3pt, leak")
    [('cue', 0.03), ('leak', 0.0)]
    """
    forms = {name: f"{name}=3pt" if name in ("cue", "probe") else name for name in _RULES}
    found = []
    for rule in filter(None, map(str.strip, rules.split(","))):
        name, equals, points = rule.partition("=")
        number = re.fullmatch(r"(\d+(?:\.\d+)?)(?:pt)?", points)
        if name not in forms or bool(equals) != ("=" in forms[name]) or (equals and not number):
            near = [f" (do you mean {forms[one]}?)" for one in get_close_matches(name, forms, 1)]
            raise InputError(
                f"there is no rule {rule!r}{''.join(near)}; there are {', '.join(forms.values())}"
            )
        found.append((name, float(number[1]) / 100 if number else 0.0))
    return found


def _cue_failures(part: Part, points: float) -> Iterator[str]:
    for found in part.battery.flagged:
        if found.right - found.expected >= points:
            yield (
                f"“{found.cue}” is correct for {percent(found.right)} of the items (expected: "
                f"{percent(found.expected)})"
            )


def _borderline_failures(part: Part, _: float) -> Iterator[str]:
    for found in part.battery.borderline:
        yield (
            f"“{found.cue}” is correct for {percent(found.right)} of the items (chance limit: "
            f"{percent(found.high)}); {part.battery.draws:,} draws can't decide whether it is "
            "flagged"
        )


def _probe_failures(part: Part, points: float) -> Iterator[str]:
    for probe in part.significant:
        if probe.right - probe.expected >= points:
            yield (
                f"a {probe.model} is correct for {percent(probe.right)} of the items (expected: "
                f"{percent(probe.expected)})"
            )


def _text_failures(part: Part, _: float) -> Iterator[str]:
    if part.overlap and part.overlap.asked:
        yield f"{len(part.overlap.asked):,} questions found in the texts"


def _undeclared(what: str) -> Callable[[Part, float], list[str]]:
    return lambda part, _: [] if getattr(part.declared, what, None) else [f"no {what} is declared"]


_RULES: dict[str, Callable[[Part, float], Iterable[str]]] = {
    "cue": _cue_failures,
    "probe": _probe_failures,
    "borderline": _borderline_failures,
    **{check.rule: check.failures for check in CHECKS if check.rule},
    "texts": _text_failures,
    "licence": _undeclared("licence"),
    "canary": _undeclared("canary"),
}
