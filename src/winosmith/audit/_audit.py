"""Audit each split of a data set, and find the items that splits share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any

from pydantic import Field

from winosmith import formats
from winosmith._version import __version__
from winosmith.answers import Answers
from winosmith.audit import _findings
from winosmith.audit._battery import MIN_DRAWS, score_cues
from winosmith.audit._cues import CUES, Cue, make_class_cues
from winosmith.audit._findings import Finding, parse_rules
from winosmith.audit._items import MIN_BLOCKS, Items, Step, make_reporter
from winosmith.audit._probes import PARTS, Probe, fit_probes
from winosmith.audit._review import find_shared_items, review
from winosmith.audit._split import SplitAudit
from winosmith.audit._triage import FOREIGN_ANSWERS, triage
from winosmith.data import Place
from winosmith.dataset import Dataset
from winosmith.embed import TextEmbedder
from winosmith.errors import DataError
from winosmith.options import Seed, declaration
from winosmith.report import Svg, signature_of
from winosmith.results import Result, computed


@declaration
class AuditSettings:
    """Settings for comparing cues and models with chance."""

    draws: Annotated[int, Field(ge=MIN_DRAWS, le=1_000_000)] = 1000
    """Initial number of random draws for the p-values of cues; p is at least 1 / (1 + draws). Draws
    are added, up to 20,000, until it is clear whether p is below 0.05."""
    probe_draws: Annotated[int, Field(ge=0)] = 200
    """Number of random draws for the p-values of the word models, at least 19; 0 skips them."""
    seed: Seed = 0
    """Random seed."""

    def __post_init__(self) -> None:
        if 0 < self.probe_draws < MIN_DRAWS:
            raise ValueError(f"probe_draws is {self.probe_draws}; use 0, or at least {MIN_DRAWS}")


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
        shared: for each pair of splits, the id pairs of items that are copies or near-duplicates.
        seed: random seed of all draws.
        embedder: parameters of the embedder whose vectors were probed; empty without an embedder.
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
    def signature(self) -> str:
        """Signature of the parameters that determine the results."""
        return "; ".join(
            f"{part.name}: "
            f"{signature_of(part.dataset, self.seed, draws=part.battery.draws, **self.embedder)}"
            for part in self.parts
        )

    def sentences(self) -> list[str]:
        """Return sentences on the verdict for each split, its columns, the null and conditions."""
        return [
            *(sentence for part in self.parts for sentence in part.verdict()),
            *formats.describe_columns(self.datasets, advise=False),
            "Chance is simulated by permuting the positions of the keys among the items, or, for "
            "position cues, by drawing them uniformly. Copies and twins are drawn together.",
            f"Conditions: {self.signature}.",
        ]

    @property
    def labelled_shared(self) -> dict[tuple[str, str], list[tuple[str, str]]]:
        """The pairs in `shared`, with the labels of the items (`SplitAudit.get_label`)."""
        label = {part.name: part.get_label for part in self.parts}
        return {
            (one, other): [(label[one](first), label[other](second)) for first, second in pairs]
            for (one, other), pairs in self.shared.items()
        }

    @property
    def datasets(self) -> dict[str, Dataset]:
        """The data set of each split, by the split's name."""
        return {part.name: part.dataset for part in self.parts}

    def charts(self) -> list[Svg]:
        """Draw a chart of cue scores for each split."""
        return [chart for part in self.parts for chart in part.charts()]

    @cached_property
    @computed()
    def findings(self) -> tuple[Finding, ...]:
        """All findings in the order of `RULES`, before `get_new_findings` marks errors."""
        found = [one for part in self.parts for one in _findings.iter_findings(part)]
        parts = {part.name: part for part in self.parts}
        for (one, other), pairs in self.shared.items():
            firsts = {ours: theirs for theirs, ours in reversed(pairs)}
            for ours, theirs in firsts.items():
                own, its = parts[other].get_label(ours), parts[one].get_label(theirs)
                text = f"{own} is identical or nearly identical to {its} in {one}"
                found.append(_findings.make_finding(parts[other], "shared", text, ours))
        order, seen = [*_findings.RULES], Counter[str]()
        numbered = []
        for finding in sorted(found, key=lambda one: order.index(one.rule)):
            seen[finding.id] += 1
            numbered.append(replace(finding, id=f"{finding.id}:{seen[finding.id]}"))
        return tuple(numbered)

    def get_new_findings(
        self, rules: str, baseline: Mapping[str, float] | None = None
    ) -> tuple[Finding, ...]:
        """Return the findings that are not in the baseline, starting with rule violations (errors).

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
            covering = _findings.COVERING_RULES.get(one.rule, (one.rule,))
            limits = [least[name] for name in covering if name in least]
            if limits and one.points >= min(limits):
                if known_points.get(one.id, -1.0) < min(limits):
                    errors.append(replace(one, level="error"))
            elif one.id not in known_points:
                others.append(one)
        return (*errors, *others)

    def failures(self, rules: str, baseline: Mapping[str, float] | None = None) -> list[str]:
        """Return sentences about the new findings that break a rule, grouped by rule.

        Args:
            rules: the rules, separated by commas. `cue=3pt`: a flagged cue scores 3 points or more
                above its expected value. `borderline`: a cue is borderline. `probe=3pt`: a
                significant probe scores 3 points or more above its expected value. `duplicates`:
                identical items, within a split or across splits. `contradictions`: identical items
                with different keys. `leak`: a field gives answers away, or splits share items.
                `options`: items with options that differ only in case or a final mark. `unfilled`:
                items with an unfilled template field. `refused`: records that are not items.
            baseline: see `get_new_findings`.

        Raises:
            InputError: a rule is unknown.

        >>> from winosmith.testing import make_twins
        >>> audit(make_twins(40), draws=50).failures("cue=3pt,duplicates")
        []
        """
        found: dict[tuple[str, ...], list[Finding]] = {}
        for one in self.get_new_findings(rules, baseline):
            if one.level == "error":
                single = (one.text,) if one.rule in _findings.INDIVIDUAL_RULES else ()
                found.setdefault((one.split, one.rule, *single), []).append(one)
        other = {"refused": "more that can't be read or used"}
        return [
            f"{first.split}: {first.text}"
            + f" (and {len(more):,} {other.get(first.rule, 'more of this kind')})" * bool(more)
            for first, *more in found.values()
        ]


def audit(
    data: Dataset | formats.Readable | Mapping[str, Dataset | formats.Readable],
    *,
    cues: Sequence[Cue] = CUES,
    embedder: TextEmbedder | None = None,
    refused: Mapping[str, Sequence[str]] | None = None,
    answers: Mapping[str, Answers] | None = None,
    places: Mapping[str, Mapping[str, Place]] | None = None,
    step: Step = lambda _: None,
    **settings: Any,
) -> Audit:
    """Audit multiple-choice items of any kind: find artifacts that give the answers away.

    Args:
        data: the items with their answers: a data set, anything that `formats.read` accepts, or a
            mapping of such splits by name.
        cues: rules that select an option without reading the item. `[*CUES, Cue(...)]` adds a cue.
            If options are classes, the cues of `make_class_cues` are added.
        embedder: embedder of texts, such as `embed.EncoderEmbedder`, whose vectors are probed in
            addition to words.
        refused: for each split, the records of its file that are not items.
        answers: answers of models, by the models' names. The ids of items must be unique across the
            splits.
        places: for each split, the location of each item by id, and of each refused record.
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
    if not cues:
        raise DataError("no cues were given; give at least one")
    for name, times in Counter(cue.name for cue in cues).items():
        if times > 1:
            raise DataError(f"two cues have the name {name!r}; rename one of them")
    parts = []
    for name, dataset in splits.items():
        step(f"{name}: cues{_note_memory(dataset, how)}")
        try:
            items = Items.from_dataset(dataset)
        except DataError as error:
            raise DataError(f"{name}: {error}") from None
        tried = [*cues, *make_class_cues(dataset)]
        report_done = make_reporter(step, f"{name}: cues", len(items), "items")
        scores = score_cues(items, tried, draws=how.draws, seed=how.seed, report_done=report_done)
        probed: tuple[Probe, ...] = ()
        of_vectors = f"{name}: vectors of questions and options"
        kinds = [(None, f"{name}: probes"), *([(embedder, of_vectors)] if embedder else [])]
        for kind, what in kinds if how.probe_draws and items.block_count >= MIN_BLOCKS else ():
            step(what)
            report_done = make_reporter(step, what, len(PARTS) * how.probe_draws, "draws")
            probed += fit_probes(
                items, kind, draws=how.probe_draws, seed=how.seed, report_done=report_done
            )
        step(f"{name}: copies, fields, splits")
        found = review(dataset, how.seed, lambda what, name=name: step(f"{name}: {what}"))  # type: ignore[misc]
        models = triage(items, answers, seed=how.seed) if answers is not None else None
        own_places = (places or {}).get(name, {})
        if models and answers and not models.models:
            models = None  # they answered another split
        elif models and own_places:
            located = [replace(one, place=str(own_places[one.id])) for one in models.suspects]
            models = replace(models, suspects=tuple(located))
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
                own_places,
            )
        )
    if answers and not any(part.triage for part in parts):
        raise DataError(FOREIGN_ANSWERS)
    if len(splits) > 1:
        step("items in several splits")
    known = embedder.parameters if embedder is not None else {}
    determined = {name: value for name, value in known.items() if name != "combine"}  # of problems
    return Audit(tuple(parts), find_shared_items(splits, step), how.seed, determined)


_LARGE = 100_000
"""Number of items above which models of words and vectors may need more than 2 GiB of memory."""


def _note_memory(dataset: Dataset, settings: AuditSettings) -> str:
    if len(dataset) <= _LARGE or not settings.probe_draws:
        return ""
    return (
        f" (models of {len(dataset):,} items may need several GiB of memory, much less with "
        "`probe_draws=0`)"
    )
