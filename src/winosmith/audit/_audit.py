"""The audit of a set: every split by itself, and what splits share."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from winosmith import formats
from winosmith._version import __version__
from winosmith.answers import Answers
from winosmith.audit._battery import Battery, Found, battery
from winosmith.audit._classes import class_cues
from winosmith.audit._cues import CUES, Cue
from winosmith.audit._items import Items
from winosmith.audit._overlap import Overlap
from winosmith.audit._pace import Step, paced
from winosmith.audit._probes import ASKED, Probe, probes
from winosmith.audit._review import Declared, Review, across, leaked, review, shared
from winosmith.audit._triage import Triage, triage
from winosmith.dataset import Dataset
from winosmith.embed import TextEmbedder
from winosmith.errors import DataError, InputError
from winosmith.metrics import detectable_differences
from winosmith.report import percent
from winosmith.results import HIDDEN, Result, computed
from winosmith.text import pieces


@dataclass(frozen=True)
class Part(Result):
    """The audit of one split.

    Attributes:
        name: of the split.
        dataset: its items.
        items: those with a key, as cues and probes see them.
        battery: the scores of the cues; see `Found`.
        probes: of words that see the options, the question, and both, and then of vectors; empty
            where there are too few items.
        review: the rest of what a reviewer looks for.
        refused: what of the file is no item: where, and why.
        triage: what models' answers tell; None if there are none to this split.
        overlap: what of it is in a collection of texts; None if none was given.
        declared: its licence and its canary; None if no file is known.
    """

    name: str = field(metadata=HIDDEN)
    dataset: Dataset = field(metadata={"key": "items", "json": len})
    items: Items = field(metadata={"key": "with_key", "json": len})
    battery: Battery = field(metadata={"json": "flat"})
    probes: tuple[Probe, ...]
    review: Review
    refused: tuple[str, ...] = field(
        default=(), metadata={"json": lambda left: {"count": len(left), "examples": left[:5]}}
    )
    triage: Triage | None = field(default=None, metadata={"key": "answers"})
    overlap: Overlap | None = field(default=None, metadata={"key": "texts"})
    declared: Declared | None = None

    @property
    def learnable(self) -> bool:
        """Whether there are enough blocks for a probe to learn from."""
        return learnable(self.items)

    @property
    @computed()
    def chance(self) -> float:
        """The fraction of items that guessing gets right."""
        return self.items.chance

    @property
    @computed()
    def digest(self) -> str:
        """The digest of the items."""
        return self.dataset.digest

    @property
    @computed(json=lambda of: [{"differ": psi, "difference": least} for psi, least in of])
    def detectable(self) -> tuple[tuple[float, float | None], ...]:
        """The least difference between two models that the items find, by the share that differ."""
        return detectable_differences(Dataset(self.items.problems))

    @property
    def best(self) -> Found | None:
        """The cue that is named first, which earns most beyond chance; None if none is."""
        return self.battery.named[0] if self.battery.named else None

    @property
    def telling(self) -> tuple[Probe, ...]:
        """The probes that guess better than their null, at 0.05 over all of them."""
        return tuple(probe for probe in self.probes if probe.p <= 0.05 / len(self.probes))


def _shared_record(
    of: Mapping[tuple[str, str], tuple[tuple[str, str], ...]],
) -> list[dict[str, Any]]:
    return [
        {"splits": names, "count": shared(pairs), "examples": pairs[:5]}
        for names, pairs in of.items()
    ]


@dataclass(frozen=True)
class Audit(Result):
    """What gives the answers of a set away.

    Attributes:
        parts: one a split.
        shared: for two splits, the pairs of ids that are copies of each other or nearly so.
        seed: of all draws.
        embedder: what determines the vectors that were probed; empty if none were.
        version: of winosmith.
    """

    parts: tuple[Part, ...] = field(
        metadata={"key": "splits", "json": lambda parts: {part.name: part for part in parts}}
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
        """One line for a README: what can be guessed of each split, and by what."""
        return f"Audited by winosmith {__version__}: " + "; ".join(map(_in_short, self.parts))

    def failures(self, rules: str) -> list[str]:
        """Return what breaks rules, a sentence each.

        Args:
            rules: separated by commas. `cue=3pt`: a cue is flagged that scores 3 points or more
                above what is expected; one that is borderline does not break it. `borderline`: a
                cue is borderline. `probe=3pt`: a probe that finds something scores 3 points or
                more above what is expected. `duplicates`: identical items, in a
                split or across. `contradictions`: identical items with different keys. `leak`: a
                field gives answers away, or splits share items. `options`: items with options that
                are equal but for case or a mark at the end. `refused`: records that are no items.
                `texts`: a question is in the texts. `licence`, `canary`: none is declared.

        Raises:
            InputError: there is no such rule.

        >>> from winosmith.testing import made_twins
        >>> audit(made_twins(40), draws=50).failures("cue=3pt,duplicates")
        []
        """
        found = []
        for name, points in parsed_rules(rules):
            found += [
                f"{part.name}: {told}" for part in self.parts for told in _RULES[name](part, points)
            ]
            if name in ("leak", "duplicates"):
                found += [leaked(one, other, pairs) for (one, other), pairs in self.shared.items()]
        return list(dict.fromkeys(found))


def audit(
    data: Dataset | formats.Readable | Mapping[str, Dataset | formats.Readable],
    *,
    cues: Sequence[Cue] = CUES,
    draws: int = 1000,
    probe_draws: int = 200,
    embedder: TextEmbedder | None = None,
    seed: int = 0,
    refused: Mapping[str, Sequence[str]] | None = None,
    answers: Mapping[str, Answers] | None = None,
    texts: Mapping[str, Overlap] | None = None,
    declared: Mapping[str, Declared] | None = None,
    step: Step = lambda _: None,
) -> Audit:
    """Audit a set of any multiple-choice items: what gives its answers away.

    Args:
        data: the items, with their answers, as a data set or as `formats.read` takes them; or
            splits by their names.
        cues: rules that pick an option without reading; `[*CUES, Cue(...)]` adds one. Where options
            are classes, `class_cues` come with them.
        draws: number of draws of the null of the cues to begin with; p is at least
            1 / (1 + draws). Draws are added, up to 20,000, while a p is undecided; see `battery`.
        probe_draws: of the null of the probes; 0 leaves the probes out.
        embedder: of texts, such as `embed.EncoderEmbedder`; its vectors are probed next to words.
        seed: of all draws.
        refused: by split, what of its file is no item.
        answers: what models chose; the ids of all splits are one name space.
        texts: by split, what of it is in a collection of texts; see `overlap`. It adds cues.
        declared: by split, its licence and its canary; see `declared`.
        step: is called with what is done next.

    Raises:
        DataError: a split without a single key, two cues of one name, a cue whose scores don't
            fit, or answers of which none is for an item.

    >>> from winosmith import Problem
    >>> data = Dataset(Problem(f"{n}", f"Cup {n} hit _.", ("jug", "cup"), int(n % 5 > 0))
    ...                for n in range(200))
    >>> found = audit(data, probe_draws=0).parts[0].best
    >>> found.cue, found.right
    ('the second', 0.8)
    """
    named = data if isinstance(data, Mapping) else {"": data}
    read = {name: formats.dataset_of(part) for name, part in named.items()}
    splits = {name or part.name or "data": part for name, part in read.items()}
    names = [cue.name for cue in cues]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None or not cues:
        raise DataError(f"two cues are named {twice!r}" if twice else "there is no cue to try")
    parts = []
    for name, dataset in splits.items():
        step(f"{name}: cues{_room(dataset, probes=probe_draws > 0, vectors=embedder is not None)}")
        try:
            items = Items.of(dataset)
        except DataError as error:
            raise DataError(f"{name}: {error}") from None
        beside = texts.get(name) if texts else None
        given = [*cues, *class_cues(dataset), *(beside.cues if beside else ())]
        items.picked(items.readable(given), paced(step, f"{name}: cues", len(items), "items"))
        tried = battery(items, given, draws=draws, seed=seed)
        learn = probe_draws > 0 and learnable(items)
        if learn:
            step(f"{name}: probes")
        tell = paced(step, f"{name}: probes", len(SEEN) * probe_draws, "draws")
        probed = probes(items, draws=probe_draws, seed=seed, tell=tell) if learn else ()
        if learn and embedder is not None:
            step(f"{name}: vectors of questions and options")
            tell = paced(step, f"{name}: vectors", len(SEEN) * probe_draws, "draws")
            probed += probes(items, embedder, draws=probe_draws, seed=seed, tell=tell)
        step(f"{name}: copies, fields, splits")
        left = tuple(refused.get(name, ())) if refused else ()
        seen = review(dataset, seed, lambda told, name=name: step(f"{name}: {told}"))  # type: ignore[misc]
        models = triage(items, answers) if answers is not None else None
        if models and answers and not any(models.answered.values()):
            models = None  # they answered another split
        told = declared.get(name) if declared else None
        parts.append(Part(name, dataset, items, tried, probed, seen, left, models, beside, told))
    if answers and not any(part.triage for part in parts):
        raise DataError("compared by their ids, no answer is of an item; another data set?")
    if len(splits) > 1:
        step("what splits share")
    both = across(splits, step)
    known = embedder.parameters if embedder is not None else {}
    determined = {name: value for name, value in known.items() if name != "combine"}  # of problems
    return Audit(tuple(parts), both, seed, determined)


_OPTION, _WORD, _PAIR, _VECTOR = 700, 34, 32, 9_400
"""Bytes that an option takes, a word of an item, a word of an option beside a word of the question,
and an option's vectors of 512 numbers: measured."""

_COUNTED = 10_000
"""So many items' words are counted at most, to tell how many all have."""


def _room(dataset: Dataset, *, probes: bool, vectors: bool = False) -> str:
    """Return how much memory a large set takes, and what to do without it; nothing for others."""
    some = dataset.problems[:: 1 + len(dataset) // _COUNTED]
    cues = learnt = 0
    for problem in some:
        asked, said = len(pieces(problem.sentence)), sum(map(len, map(pieces, problem.options)))
        cues += _OPTION * len(problem.options) + _WORD * (asked + said)
        learnt += _PAIR * (2 + min(asked, ASKED)) * said + _VECTOR * len(problem.options) * vectors
    scale = len(dataset) / max(1, len(some)) / 2**30
    needed, alone = (cues + learnt * probes) * scale, cues * scale
    there = _memory() / 2**30
    if needed < 2:
        return ""
    told = f"this takes about {needed:.0f} GiB of memory"
    without = f"with `probe_draws=0` {alone:.1f}" if probes else ""
    if needed <= there:
        return f" ({'; '.join(filter(None, (told, without)))})"
    fit = int(len(dataset) * there / needed * 0.8)
    ways = f"try {fit:,} items drawn at random" + (f", or {without}" if without else "")
    return f" ({told}, and there are {there:.3g}: {ways})"


def _memory() -> float:
    """Return how many bytes of memory the machine has; infinitely many where it does not tell."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):  # Windows has none of this
        return float("inf")


LEAST = 50
"""With fewer blocks there is nothing that a probe could learn from."""


def learnable(items: Items) -> bool:
    """Return whether items are in enough blocks for a probe to learn from."""
    return items.blocks >= LEAST


def _in_short(part: Part) -> str:
    best = part.best
    guessed = f"{percent(best.right)} by {best.cue}" if best else "no cue stands out"
    if not best and (undecided := part.battery.borderline):
        guessed = f"{percent(undecided[0].right)} by {undecided[0].cue} is borderline"
    if leaks := part.review.leaks:
        guessed = f"{', '.join(leak.field for leak in leaks)} tells the key; {guessed}"
    blind = max(part.telling, key=lambda probe: probe.right, default=None)
    seen = f", {percent(blind.right)} by {blind.by} from {SEEN[blind.sees]}" if blind else ""
    chance = f"chance {percent(part.items.chance)}, n = {len(part.items):,}"
    return f"{part.name}: {guessed}{seen} ({chance})"


SEEN = {
    "options": "the options alone",
    "question": "the question alone",
    "both": "question and options",
}
"""What a probe sees, in words."""


def parsed_rules(rules: str) -> list[tuple[str, float]]:
    """Return the rules of `Audit.failures`, each by its name and its points, 0–1.

    Raises:
        InputError: there is no such rule; the message lists all.

    >>> parsed_rules("cue=3pt, leak")
    [('cue', 0.03), ('leak', 0.0)]
    """
    return [_rule(rule) for rule in filter(None, map(str.strip, rules.split(",")))]


def _rule(text: str) -> tuple[str, float]:
    name, equals, points = text.partition("=")
    number = re.fullmatch(r"(\d+(?:\.\d+)?)(?:pt)?", points)
    if name not in _RULES or bool(equals) != (name in ("cue", "probe")) or (equals and not number):
        near = "".join(get_close_matches(name, _RULES, 1))
        nearest = f" (do you mean {near + '=3pt' * (near in ('cue', 'probe'))}?)" if near else ""
        raise InputError(
            f"there is no rule {text!r}{nearest}; there are cue=3pt, probe=3pt, "
            + ", ".join(rule for rule in _RULES if rule not in ("cue", "probe"))
        )
    return name, float(number[1]) / 100 if number else 0.0


def _of_cues(part: Part, points: float) -> list[str]:
    return [
        f"{found.cue} is right in {percent(found.right)} (expected {percent(found.expected)})"
        for found in part.battery.named
        if found.right - found.expected >= points
    ]


def _of_borderline(part: Part, _: float) -> list[str]:
    return [
        f"{found.cue} is right in {percent(found.right)} (at most {percent(found.high)} by "
        f"chance); {part.battery.draws:,} draws can't decide whether it stands out"
        for found in part.battery.borderline
    ]


def _of_probes(part: Part, points: float) -> list[str]:
    return [
        f"{percent(probe.right)} can be guessed by {probe.by} from {SEEN[probe.sees]} "
        f"(expected {percent(probe.expected)})"
        for probe in part.telling
        if probe.right - probe.expected >= points
    ]


def _some(count: int, what: str, more: str = "") -> list[str]:
    return [f"{count:,} {what}{'s' * (count > 1)}{more}"] if count else []


def _undeclared(part: Part, what: str) -> list[str]:
    known = part.declared is not None and getattr(part.declared, what) is not None
    return [] if known else [f"no {what} is declared"]


_RULES: dict[str, Callable[[Part, float], list[str]]] = {
    "cue": _of_cues,
    "borderline": _of_borderline,
    "probe": _of_probes,
    "duplicates": lambda part, _: _some(
        len(part.review.copies.groups), "group", " of identical items"
    ),
    "contradictions": lambda part, _: _some(
        len(part.review.copies.contradictions), "group", " of identical items with different keys"
    ),
    "leak": lambda part, _: [str(leak) for leak in part.review.leaks or ()],
    "options": lambda part, _: _some(len(part.review.equal), "item", " with equal options"),
    "refused": lambda part, _: _some(len(part.refused), "record", " set aside: no items"),
    "texts": lambda part, _: _some(
        len(part.overlap.asked) if part.overlap else 0, "question", " found in the texts"
    ),
    "licence": lambda part, _: _undeclared(part, "licence"),
    "canary": lambda part, _: _undeclared(part, "canary"),
}
