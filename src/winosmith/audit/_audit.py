"""Audit a data set: each split separately, and the items that splits share."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from winosmith import formats
from winosmith._version import __version__
from winosmith.answers import Answers
from winosmith.audit._battery import (
    MIN_DRAWS,
    Battery,
    CueScore,
    format_p_value,
    format_percent,
    score_cues,
)
from winosmith.audit._cues import CUES, Cue, make_class_cues
from winosmith.audit._items import MIN_BLOCKS, Items, Step, make_reporter
from winosmith.audit._overlap import Overlap
from winosmith.audit._probes import MAX_QUESTION_WORDS, SEEN, Probe, fit_probes
from winosmith.audit._review import Declarations, Review, find_shared_items, review
from winosmith.audit._triage import Triage, triage
from winosmith.blocks import normalize_tokens
from winosmith.data import Place
from winosmith.dataset import Dataset
from winosmith.embed import TextEmbedder
from winosmith.errors import DataError, InputError
from winosmith.metrics import compute_detectable_differences
from winosmith.options import Seed, declaration
from winosmith.problem import Problem
from winosmith.records import dump_json
from winosmith.report import Svg, join_names, percent, signature_of
from winosmith.results import HIDDEN, IF_ANY, Result, computed, shown
from winosmith.text import pieces


@declaration
class AuditSettings:
    """Settings for comparing cues and models with chance."""

    draws: Annotated[int, Field(ge=MIN_DRAWS, le=1_000_000)] = 1000
    """Initial number of random draws for the p-values of cues; p is at least 1 / (1 + draws). Draws
    are added, up to 20,000, until it is clear whether p is below 0.05."""
    probe_draws: Annotated[int, Field(ge=0)] = 200
    """Number of random draws for the p-values of the word models; 0 skips these models."""
    seed: Seed = 0
    """Random seed."""


@dataclass(frozen=True)
class SplitAudit(Result):
    """The audit of one split.

    Attributes:
        name: name of the split.
        dataset: the items of the split.
        items: the items with a key, as cues and probes see them.
        battery: the scores of the cues; see `CueScore`.
        probes: word probes that see the options, the question, and both, followed by the vector
            probes; empty if there are too few items.
        review: the other findings.
        refused: location of each record that is not an item, with the reason.
        triage: the findings from models' answers; None if no model answered this split.
        overlap: the parts of items found in a collection of texts; None if none is given.
        declared: the licence and the canary of the split; None if its file is unknown.
        places: the known locations of items by id, and of the refused records.
        sampled: size of the sample that the probes saw; 0 if they saw all items.
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
    declared: Declarations | None = None
    places: Mapping[str, Place] = field(default_factory=dict, metadata=HIDDEN)
    sampled: int = field(default=0, metadata=IF_ANY)

    @property
    @computed()
    def chance(self) -> float:
        """The accuracy of random guessing, 0–1."""
        return self.items.chance

    @property
    @computed()
    def digest(self) -> str:
        """The digest of the items."""
        return self.dataset.digest

    @cached_property
    @computed(json=lambda of: [{"differ": psi, "difference": least} for psi, least in of])
    def detectable(self) -> tuple[tuple[float, float | None], ...]:
        """Detectable accuracy difference for each fraction of items on which models differ."""
        return compute_detectable_differences(Dataset(self.items.problems))

    @cached_property
    def problems(self) -> Mapping[str, Problem]:
        """The items by id."""
        return {problem.id: problem for problem in self.dataset}

    @property
    def best_cue(self) -> CueScore | None:
        """The flagged cue with the highest score above chance, or None."""
        return self.battery.flagged[0] if self.battery.flagged else None

    @property
    def significant_probes(self) -> tuple[Probe, ...]:
        """The probes that are better than chance at 0.05, after Bonferroni's correction."""
        return tuple(probe for probe in self.probes if probe.p <= 0.05 / len(self.probes))

    @property
    def inconclusive(self) -> str:
        """Reason why the audit of the split is inconclusive, or ""."""
        if (bad := len(self.refused)) >= (good := len(self.dataset)):
            return f"{self.name} can't be judged: {bad:,} of {bad + good:,} rows can't be used"
        limits = [one.high for one in self.battery.found if one.about == "position" and one.spread]
        is_small = min(limits, default=0) > 1 - 1e-9 and self.best_cue is None
        why = f"even a cue that is correct for all {len(self.items)} items would not be flagged"
        return f"{self.name} is too small to be judged: {why}" if is_small else ""

    def charts(self) -> list[Svg]:
        """Draw the chart of cue scores."""
        return self.battery.charts(f"Cues of {self.name}")

    def verdict(self) -> Iterator[str]:
        """Yield the sentences of the verdict: the strongest cue or model, with its p-value."""
        if leaks := self.review.leaks:
            worst = max(leaks, key=lambda leak: leak.accuracy * leak.problems)
            yield f"{self.name} gives answers away through a field: {worst}."
        best, scores = self.best_cue, self.battery
        rows = f" in {len(self.dataset) + len(self.refused):,} rows" if self.refused else ""
        items, tried = f"{len(self.items):,} items{rows}", len(scores.found)
        if best is not None:
            yield (
                f"{self.name} gives answers away: choosing “{best.cue}” is correct for "
                f"{format_percent(best.right)} of {items} (expected by chance: "
                f"{format_percent(best.expected)}; {format_p_value(best.p, scores.draws)}, "
                f"corrected for {tried} cues)."
            )
            return
        if self.significant_probes:
            blind = max(self.significant_probes, key=lambda probe: probe.right)
            yield (
                f"No cue of {self.name} is flagged, but a {blind.model} is correct for "
                f"{format_percent(blind.right)} of {items} (expected by chance: "
                f"{format_percent(blind.expected)}; {format_p_value(blind.p, blind.draws)})."
            )
            return
        first = scores.found[0]
        figures = (
            f"correct for {format_percent(first.right)} of {items} (chance limit: "
            f"{format_percent(first.high)}; {format_p_value(first.p, scores.draws)})."
        )
        if scores.borderline:
            yield (
                f"It is borderline whether {self.name} gives answers away: {scores.draws:,} random "
                f"draws are too few to decide about “{first.cue}”, {figures}"
            )
        elif self.inconclusive:
            yield f"{self.inconclusive}."
        else:
            yield (
                f"No cue of {self.name} is flagged. The strongest of {tried} is “{first.cue}”, "
                f"{figures}"
            )


@dataclass(frozen=True)
class Check:
    """A check for one kind of fault in the items of a split.

    Attributes:
        title: description of the findings, in the plural.
        find: returns the ids of items, or of groups of items; for fields and for records that are
            not items, a sentence about each; None if there are too few items for the check.
        rule: name of the rule in `Audit.failures`; empty if there is none.
        template: template of a finding: {0} is an item, {1} the first item of its group; empty if
            the findings are not items.
    """

    title: str
    find: Callable[[SplitAudit], Sequence[Sequence[str]] | None]
    rule: str = ""
    template: str = ""

    def list_examples(self, groups: Sequence[Sequence[str]], limit: int = 3) -> str:
        """List the first groups as text, separated by semicolons.

        >>> Check("", lambda part: ()).list_examples([("0", "240"), ("3", "5")])
        '0 and 240; 3 and 5'
        """
        if limit > 1 and all(len(ids) == 1 for ids in groups):
            return join_names([ids[0] for ids in groups], limit)
        more = [f"{len(groups) - limit:,} more"] * (len(groups) > limit)
        return "; ".join([*map(join_names, groups[:limit]), *more])


CHECKS = (
    Check(
        "groups of identical items",
        lambda part: part.review.copies.groups,
        "duplicates",
        "item {0} is identical to item {1}",
    ),
    Check(
        "groups of identical items with different keys",
        lambda part: part.review.copies.contradictions,
        "contradictions",
        "item {0} is identical to item {1}, but items with this text have different keys",
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
    Check(
        "items with options that differ at most in case or final punctuation",
        lambda part: [(one,) for one in part.review.equal],
        "options",
        "{0} has options that differ at most in case or final punctuation",
    ),
    Check(
        "items with a different number of options than most",
        lambda part: [(one,) for one in part.review.uneven],
    ),
    Check(
        "items with an unfilled template field",
        lambda part: [(one,) for one in part.review.unfilled],
        "unfilled",
        "{0} has an unfilled template field",
    ),
    Check(
        "records that are not items",
        lambda part: [(one,) for one in part.refused],
        "refused",
        "{0}",
    ),
)
"""The checks that find items, in the order of the report."""

Level = Literal["error", "warning", "note"]


@dataclass(frozen=True, slots=True)
class Finding(Result):
    """One finding of an audit, as shown in code reviews.

    Attributes:
        level: "error" if the finding breaks a rule of `Audit.judge`; "note" if no change is needed.
        rule: a rule of `Audit.failures`, or "shared" for items that occur in several splits.
        split: name of the split.
        text: a sentence without a full stop.
        path: the item's file, relative to the current folder; None if not known. A finding about
            the whole split is located at its first item, or at the first item that shows it.
        line: the 1-based number of the item's first line; None if not known.
        id: a digest of the rule and of the item's content. The digest does not depend on the item's
            line, file or id. The id of the nth identical finding ends in ":n".
        points: accuracy of a cue or model above its expected accuracy, 0–1; 0 for other findings.
    """

    level: Level = field(metadata=shown("level"))
    rule: str = field(metadata=shown("rule"))
    split: str
    text: str = field(metadata=shown("finding"))
    path: str | None = field(metadata=shown("file"))
    line: int | None = field(metadata=shown("line"))
    id: str
    points: float = field(default=0.0, metadata=IF_ANY)


RULES = {
    "cue": "cues that select the correct option more often than by chance",
    "probe": "models of words that predict the correct option",
    "borderline": "cues for which the random draws are too few to decide whether they are flagged",
    **{check.rule: check.title for check in CHECKS if check.rule},
    "shared": "items that occur in several splits",
    "texts": "questions found in the texts",
    "licence": "files without a declared licence",
    "canary": "files without a declared canary",
}
"""Description of each kind of finding, in the order of the report."""

_COVERING_RULES = {"shared": ("leak", "duplicates")}
"""Rules of `Audit.failures` that cover findings without a rule of the same name."""

_DECLARATION_RULES = ("licence", "canary")
_NOTE_RULES = ("borderline", *_DECLARATION_RULES)
_INDIVIDUAL_RULES = ("cue", "probe", "borderline", "leak")
"""Rules whose findings `Audit.failures` reports one by one."""


def _make_shared_records(
    shared: Mapping[tuple[str, str], tuple[tuple[str, str], ...]],
) -> list[dict[str, Any]]:
    return [
        {"splits": names, "count": len({other for _, other in pairs}), "examples": pairs[:5]}
        for names, pairs in shared.items()
    ]


@dataclass(frozen=True)
class Audit(Result):
    """The audit of a data set.

    Attributes:
        parts: the audit of each split.
        shared: for each pair of splits, the pairs of ids of copies and near-duplicates.
        seed: random seed of all draws.
        embedder: parameters of the embedder whose vectors were probed; empty if none was.
        version: version of winosmith.
    """

    parts: tuple[SplitAudit, ...] = field(
        metadata={
            "key": "splits",
            "json": lambda parts: {part.name: part for part in parts},
            "rows": True,
        }
    )
    shared: Mapping[tuple[str, str], tuple[tuple[str, str], ...]] = field(
        metadata={"json": _make_shared_records}
    )
    seed: int
    embedder: Mapping[str, Any] = field(
        default_factory=dict, metadata={"json": lambda known: known or None}
    )
    version: str = __version__

    @property
    @computed(key="line")
    def readme_line(self) -> str:
        """A README line with each split's strongest cue and model, or "" if any is inconclusive."""
        if any(part.inconclusive for part in self.parts):
            return ""
        return f"Audited by winosmith {__version__}: " + "; ".join(
            map(_summarise_split, self.parts)
        )

    @property
    def signature(self) -> str:
        """Signature of the parameters that determine the results."""
        return "; ".join(
            f"{part.name}: "
            f"{signature_of(part.dataset, self.seed, draws=part.battery.draws, **self.embedder)}"
            for part in self.parts
        )

    def sentences(self) -> list[str]:
        """Return sentences with the verdict on each split, the null, and the conditions."""
        return [
            *(sentence for part in self.parts for sentence in part.verdict()),
            "Chance is simulated by permuting the positions of the keys among the items, or, for "
            "position cues, by drawing them uniformly. Copies and twins are drawn together.",
            f"Conditions: {self.signature}.",
        ]

    def charts(self) -> list[Svg]:
        """Draw a chart of cue scores for each split."""
        return [chart for part in self.parts for chart in part.charts()]

    @cached_property
    @computed()
    def findings(self) -> tuple[Finding, ...]:
        """All findings in the order of `RULES`, before `judge` marks errors."""
        found = [one for part in self.parts for one in _iter_findings(part)]
        parts = {part.name: part for part in self.parts}
        for (one, other), pairs in self.shared.items():
            firsts = {ours: theirs for theirs, ours in reversed(pairs)}
            for ours, theirs in firsts.items():
                text = f"{ours} is identical or nearly identical to {theirs} in {one}"
                found.append(_make_finding(parts[other], "shared", text, ours))
        order, seen = [*RULES], Counter[str]()
        numbered = []
        for finding in sorted(found, key=lambda one: order.index(one.rule)):
            seen[finding.id] += 1
            numbered.append(replace(finding, id=f"{finding.id}:{seen[finding.id]}"))
        return tuple(numbered)

    def judge(self, rules: str, baseline: Mapping[str, float] | None = None) -> tuple[Finding, ...]:
        """Return the findings that are not in the baseline, with rule violations first, as errors.

        A missing licence or canary is a finding only if a rule requires them.

        Args:
            rules: see `failures`.
            baseline: the `points` of an earlier audit's findings by id. These findings are omitted,
                except for cues and models that did not break their rule in the earlier audit.

        Raises:
            InputError: a rule is unknown.
        """
        least, known_points = dict(parse_rules(rules)), baseline or {}
        errors: list[Finding] = []
        others: list[Finding] = []
        for one in self.findings:
            limits = [
                least[name] for name in _COVERING_RULES.get(one.rule, (one.rule,)) if name in least
            ]
            if limits and one.points >= min(limits):
                if known_points.get(one.id, -1.0) < min(limits):
                    errors.append(replace(one, level="error"))
            elif one.id not in known_points and one.rule not in _DECLARATION_RULES:
                others.append(one)
        return (*errors, *others)

    def failures(self, rules: str, baseline: Mapping[str, float] | None = None) -> list[str]:
        """Return sentences about the new findings that break a rule, grouped by rule.

        Args:
            rules: separated by commas. `cue=3pt`: a flagged cue scores 3 points or more above its
                expected value. `borderline`: a cue is borderline. `probe=3pt`: a significant probe
                scores 3 points or more above its expected value. `duplicates`: identical items,
                within a split or across splits. `contradictions`: identical items with different
                keys. `leak`: a field gives answers away, or splits share items. `options`: items
                with options that differ only in case or a final mark. `unfilled`: items with an
                unfilled template field. `refused`: records that are not items. `texts`: a question
                is in the texts. `licence`, `canary`: none is declared.
            baseline: see `judge`.

        Raises:
            InputError: a rule is unknown.

        >>> from winosmith.testing import make_twins
        >>> audit(make_twins(40), draws=50).failures("cue=3pt,duplicates")
        []
        """
        found: dict[tuple[str, ...], list[Finding]] = {}
        for one in self.judge(rules, baseline):
            if one.level == "error":
                single = (one.text,) if one.rule in _INDIVIDUAL_RULES else ()
                found.setdefault((one.split, one.rule, *single), []).append(one)
        other = {"refused": "more that can't be read or used"}
        return [
            f"{first.split}: {first.text}"
            + f" (and {len(more):,} {other.get(first.rule, 'more of this kind')})" * bool(more)
            for first, *more in found.values()
        ]


def _iter_findings(part: SplitAudit) -> Iterator[Finding]:
    for cue in part.battery.found:
        text = f"“{cue.cue}” is correct for {percent(cue.right)} of the items"
        shows = part.items.find_first_solved_id(cue.cue)
        if cue.rank is not None:
            text = f"{text} (expected: {percent(cue.expected)})"
            yield _make_finding(part, "cue", text, shows, cue.cue, cue.right - cue.expected)
        elif cue.borderline:
            text = (
                f"{text} (chance limit: {percent(cue.high)}); {part.battery.draws:,} draws are "
                "too few to decide whether it is flagged"
            )
            yield _make_finding(part, "borderline", text, shows, cue.cue)
    for probe in part.significant_probes:
        text = (
            f"a {probe.model} is correct for {percent(probe.right)} of the items (expected: "
            f"{percent(probe.expected)})"
        )
        yield _make_finding(part, "probe", text, "", probe.model, probe.right - probe.expected)
    for leak in part.review.leaks or ():
        yield _make_finding(part, "leak", str(leak), "", f"{leak.field}, {leak.tell}")
    for check in CHECKS:
        for ids in (check.find(part) or ()) if check.template else ():
            for item in ids[1:] or ids:
                yield _make_finding(part, check.rule, check.template.format(item, ids[0]), item)
    for item, text in (part.overlap.asked if part.overlap else {}).items():
        yield _make_finding(
            part, "texts", f"the question of {item} was found in the texts: “{text}”", item
        )
    for what in _DECLARATION_RULES:
        if not getattr(part.declared, what, None):
            yield _make_finding(part, what, f"no {what} is declared", "", "")


def _make_finding(
    part: SplitAudit, rule: str, text: str, item: str, topic: str | None = None, points: float = 0.0
) -> Finding:
    """Make a finding about an item or about another `topic`, before ids are numbered."""
    place = part.places.get(item) or part.places.get(part.dataset[0].id)
    content: object = topic
    if topic is None:
        problem = part.problems.get(item)
        content = text.removeprefix(f"{place}: ")
        if problem is not None:
            options = sorted(map(normalize_tokens, problem.options))
            content = [normalize_tokens(problem.sentence), options]
    level: Level = "note" if rule in _NOTE_RULES else "warning"
    path = Path(place.path) if place else None
    if path and path.is_absolute() and path.is_relative_to(Path.cwd()):
        path = path.relative_to(Path.cwd())
    return Finding(
        level,
        rule,
        part.name,
        text,
        path.as_posix() if path else None,
        place.number if place and place.unit == "line" else None,
        make_finding_id(rule, "" if topic is None else part.name, content),
        points,
    )


def make_finding_id(rule: str, split: str, content: object) -> str:
    """Compute the id of a finding from its content; see `Finding.id`."""
    return sha256(dump_json([rule, split, content]).encode()).hexdigest()[:16]


def audit(
    data: Dataset | formats.Readable | Mapping[str, Dataset | formats.Readable],
    *,
    cues: Sequence[Cue] = CUES,
    embedder: TextEmbedder | None = None,
    refused: Mapping[str, Sequence[str]] | None = None,
    answers: Mapping[str, Answers] | None = None,
    texts: Mapping[str, Overlap] | None = None,
    declared: Mapping[str, Declarations] | None = None,
    places: Mapping[str, Mapping[str, Place]] | None = None,
    sample: int = 0,
    step: Step = lambda _: None,
    **settings: Any,
) -> Audit:
    """Audit a data set of any multiple-choice items: find artifacts that give its answers away.

    Args:
        data: the items, with their answers, as a data set or as anything that `formats.read`
            accepts; or a mapping of such splits by name.
        cues: rules that select an option without reading; `[*CUES, Cue(...)]` adds one. If options
            are classes, `make_class_cues` are added.
        embedder: embedder of texts, such as `embed.EncoderEmbedder`; its vectors are probed in
            addition to words.
        refused: records of each split's file that are not items.
        answers: models' answers; ids of items must be unique across the splits.
        texts: parts of each split found in a collection of texts; see `find_overlap`. Cues are
            added for texts.
        declared: licence and canary of each split; see `find_declarations`.
        places: for each split, the location of each item by id, and of each refused record.
        sample: number of items of each split that the probes see, drawn at random in whole blocks;
            0 for all. Cues always see all items.
        step: called with a description of the next step.
        settings: `draws`, `probe_draws` and `seed`, the attributes of `AuditSettings`.

    Raises:
        DataError: a split has no key, two cues have the same name, a cue gives invalid scores, or
            no answer belongs to an item.
        RecipeError: a setting is unknown or out of range.

    >>> from winosmith import Problem
    >>> data = Dataset(Problem(f"{n}", f"Cup {n} hit _.", ("jug", "cup"), int(n % 5 > 0))
    ...                for n in range(200))
    >>> found = audit(data, probe_draws=0).parts[0].best_cue
    >>> found.cue, found.right
    ('the second', 0.8)
    """
    how = AuditSettings(**settings)
    splits = formats.as_splits(data)
    names = [cue.name for cue in cues]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None or not cues:
        raise DataError(
            f"two cues have the name {twice!r}; rename one of them"
            if twice
            else "no cues were given; give at least one"
        )
    parts = []
    for name, dataset in splits.items():
        memory = _note_memory(
            dataset, probes=how.probe_draws > 0, vectors=embedder is not None, sample=sample
        )
        step(f"{name}: cues{memory}")
        try:
            items = Items.from_dataset(dataset)
        except DataError as error:
            raise DataError(f"{name}: {error}") from None
        overlap = texts.get(name) if texts else None
        tried = [*cues, *make_class_cues(dataset), *(overlap.cues if overlap else ())]
        report_done = make_reporter(step, f"{name}: cues", len(items), "items")
        scores = score_cues(items, tried, draws=how.draws, seed=how.seed, report_done=report_done)
        probed: tuple[Probe, ...] = ()
        of_vectors = f"{name}: vectors of questions and options"
        kinds = [(None, f"{name}: probes"), *([(embedder, of_vectors)] if embedder else [])]
        seen = items.sample(sample, how.seed)
        for kind, what in kinds if how.probe_draws and seen.block_count >= MIN_BLOCKS else ():
            step(what)
            report_done = make_reporter(step, what, len(SEEN) * how.probe_draws, "draws")
            probed += fit_probes(
                seen, kind, draws=how.probe_draws, seed=how.seed, report_done=report_done
            )
        step(f"{name}: copies, fields, splits")
        found = review(dataset, how.seed, lambda what, name=name: step(f"{name}: {what}"))  # type: ignore[misc]
        models = triage(items, answers, seed=how.seed) if answers is not None else None
        if models and answers and not models.models:
            models = None  # they answered another split
        parts.append(
            SplitAudit(
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
                (places or {}).get(name, {}),
                len(seen) if probed and seen is not items else 0,
            )
        )
    if answers and not any(part.triage for part in parts):
        raise DataError(FOREIGN_ANSWERS)
    if len(splits) > 1:
        step("items in several splits")
    known = embedder.parameters if embedder is not None else {}
    determined = {name: value for name, value in known.items() if name != "combine"}  # of problems
    return Audit(tuple(parts), find_shared_items(splits, step), how.seed, determined)


FOREIGN_ANSWERS = "no answer has the id of an item; do the answers belong to a different data set?"
"""Error message if no answer belongs to an item."""

_BYTES_PER_OPTION, _BYTES_PER_WORD, _BYTES_PER_PAIR, _BYTES_PER_VECTOR = 700, 34, 32, 9_400
"""Measured memory use in bytes: per option, per word of an item, per pair of a question word and an
option word, and per option with vectors of 512 numbers."""

_SUGGESTED_SAMPLE_SIZE = 20_000
"""Sample size that the note on memory use suggests."""

_MAX_COUNTED_ITEMS = 10_000
"""Maximum number of items whose words are counted to estimate memory use."""


def _note_memory(dataset: Dataset, *, probes: bool, vectors: bool = False, sample: int = 0) -> str:
    """Return a note on the memory that a data set needs, or "" if it needs less than 2 GiB."""
    counted = dataset.problems[:: 1 + len(dataset) // _MAX_COUNTED_ITEMS]
    cues = learnt = 0
    for problem in counted:
        asked, said = len(pieces(problem.sentence)), sum(map(len, map(pieces, problem.options)))
        cues += _BYTES_PER_OPTION * len(problem.options) + _BYTES_PER_WORD * (asked + said)
        learnt += (
            _BYTES_PER_PAIR * (2 + min(asked, MAX_QUESTION_WORDS)) * said
            + _BYTES_PER_VECTOR * len(problem.options) * vectors
        )
    scale = len(dataset) / max(1, len(counted)) / 2**30
    share = min(1.0, sample / max(1, len(dataset))) if sample else 1.0
    needed = (cues + learnt * probes * share) * scale
    if needed < 2:
        return ""
    less = f"; {cues * scale:.1f} GiB with `probe_draws=0`" if probes else ""
    less += f"; less with `sample={_SUGGESTED_SAMPLE_SIZE}`" * (probes and share == 1.0)
    return f" (this needs about {needed:.0f} GiB of memory{less})"


def _summarise_split(part: SplitAudit) -> str:
    count = f"n = {len(part.items):,}"

    def describe_accuracy(rule: CueScore | Probe) -> str:
        return f"correct for {percent(rule.right)} (expected: {percent(rule.expected)}, {count})"

    found = [f"{leak.field} reveals the key" for leak in part.review.leaks or ()]
    if part.best_cue:
        found.append(f"“{part.best_cue.cue}” is {describe_accuracy(part.best_cue)}")
    elif part.battery.borderline:
        first = part.battery.borderline[0]
        found.append(f"“{first.cue}”, {describe_accuracy(first)}, is borderline")
    else:
        found.append(f"no cue is flagged ({count})")
    if part.significant_probes:
        probe = max(part.significant_probes, key=lambda one: one.right)
        found.append(f"a {probe.model} is {describe_accuracy(probe)}")
    return f"{part.name}: {'; '.join(found)}"


def parse_rules(rules: str) -> list[tuple[str, float]]:
    """Parse the rules of `Audit.failures` into their names and points, 0–1.

    Raises:
        InputError: a rule is unknown; the message lists all rules.

    >>> parse_rules("cue=3pt, leak")
    [('cue', 0.03), ('leak', 0.0)]
    """
    named = [name for name in RULES if name not in _COVERING_RULES]
    forms = {name: f"{name}=3pt" if name in ("cue", "probe") else name for name in named}
    found = []
    for rule in filter(None, map(str.strip, rules.split(","))):
        name, equals, points = rule.partition("=")
        number = re.fullmatch(r"(\d+(?:\.\d+)?)(?:pt)?", points)
        if name not in forms or bool(equals) != ("=" in forms[name]) or (equals and not number):
            near = [f" (did you mean {forms[one]}?)" for one in get_close_matches(name, forms, 1)]
            raise InputError(
                f"unknown rule {rule!r}{''.join(near)}; use {', '.join(forms.values())}"
            )
        found.append((name, float(number[1]) / 100 if number else 0.0))
    return found
