"""Read the pool of a recipe, and run the stages before the filter that remove problems.

A pool may consist of several files, such as one per round of collection. A copy adds no
information, but its problem is counted twice and has more weight in training. If copies contradict
each other, at least one answer is incorrect. A new benchmark therefore keeps one problem of each
group of copies, in whole twins, and no contradictory copies.
"""

from __future__ import annotations

import hashlib
import re
import warnings
import zipfile
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

from winosmith import formats, validate
from winosmith.blocks import draw_blocks, find_contradictions, find_copies, spread_embargo
from winosmith.build._recipe import Copies, Recipe, list_paths
from winosmith.dataset import Dataset, Dropped, Filtered
from winosmith.errors import DataError, FormatError, RecipeError
from winosmith.problem import Problem
from winosmith.records import parse_json
from winosmith.report import join_names
from winosmith.response import Response


def read_planted_artifacts(recipe: Recipe) -> dict[str, str] | None:
    """Map the original ids of problems to the kinds of their planted artifacts."""
    if recipe.planted is None:
        return None
    try:
        planted = parse_json(Path(recipe.planted).read_text("utf-8"))
    except ValueError as error:
        raise RecipeError(f"{recipe.planted}: not JSON: {error}") from None
    if not isinstance(planted, dict) or not all(isinstance(k, str) for k in planted.values()):
        raise RecipeError(f"{recipe.planted}: must map each problem id to its artifact kind")
    return planted


def read_pool(recipe: Recipe) -> Dataset:
    """Read the problems of a recipe from all its files.

    A problem that occurs in two files with the same id and content is included once, because files
    of perturbed problems often contain their roots.

    Raises:
        FormatError: a file can't be read, or an id belongs to another problem in an earlier file.
    """
    return read_files(recipe)[0]


def read_files(
    recipe: Recipe, skip_bad: str | Path | None = None
) -> tuple[Dataset, tuple[str, ...]]:
    """Return the problems of a recipe and the notes of the file reader; see `read_pool`.

    If `skip_bad` is a path, bad records are moved to this file instead of raising an error.
    """
    by_id: dict[str, tuple[Problem, str]] = {}
    names: list[str] = []
    notes: list[str] = []
    bad: list[formats.Entry] = []
    paths = list_paths(recipe.data)
    for path in paths:
        try:
            contents = formats.scan(
                path,
                recipe.format,
                pair_by=recipe.pair_by if len(paths) == 1 else recipe.pair_by and "",
                columns=recipe.columns,
            )
            if skip_bad and contents.bad:
                bad += contents.bad
                formats.write_bad_records(bad, skip_bad)
            contents.raise_if_bad(skip_bad=skip_bad is not None)
            problems = formats.to_dataset(contents)
        except FormatError as error:
            raise error.with_reason(_use_recipe_keys(error.reason)) from None
        for problem in problems:
            first, where = by_id.setdefault(problem.id, (problem, path))
            if _get_content(problem) != _get_content(first):
                raise FormatError(
                    f"the id {problem.id!r} belongs to another problem in {where}; choose a new id",
                    path,
                )
        names.append(problems.name)
        found = [_use_recipe_keys(note) for note in contents.notes]
        if bad_count := len(contents.bad):
            # Only their number: the report is public, and some records may be test problems.
            whole = bad_count + len(contents.items)
            found.insert(0, f"{bad_count:,} of {whole:,} records can't be read and are omitted")
        for note in found:
            warnings.warn(f"{path}: {note}", formats.ReadingNote, stacklevel=4)
        notes += [f"{Path(path).name}: {note}" for note in found]
    every, files = [problem for problem, _ in by_id.values()], [path for _, path in by_id.values()]
    try:  # the halves of a twin may be in different files
        if paths[1:]:
            every = formats.pair_files(every, files, recipe.pair_by, paths[0])
    except FormatError as error:
        raise error.with_reason(_use_recipe_keys(error.reason)) from None
    return spread_embargo(Dataset(every, names[0])), tuple(notes)


_get_content = attrgetter("sentence", "options", "answer")

_SETTING = re.compile(r"`(pair_by|format_name|question|choices|answer|answer_is|id)=([^`]*)`")


def _use_recipe_keys(reason: str) -> str:
    """Replace the parameter names of `formats.read` in a message with a recipe's keys."""

    def format_key(found: re.Match[str]) -> str:
        name = found[1].removesuffix("_name")
        table = "the recipe" if name in ("pair_by", "format") else "the table [columns]"
        return f"`{name}{f' = {found[2]}' * bool(found[2])}` in {table}"

    return _SETTING.sub(format_key, reason)


def read_pool_votes(recipe: Recipe) -> tuple[Response, ...]:
    """Read the votes from all vote files of a recipe, if it has any.

    Raises:
        FormatError: a file can't be read.
    """
    return tuple(
        vote for path in list_paths(recipe.votes_file) for vote in validate.read_votes(path)
    )


USED_FOR_TUNING = "embed split", "discarded: it was used to fine-tune the encoder"
"""The stage and the reason for dropping problems that were used to fine-tune an encoder."""


@dataclass
class Stages:
    """The collected problems, and those that remain after each stage.

    Attributes:
        valid: the ids of the problems that enough judges found valid.
        compared: the rows of the collected problems that were searched for copies.
        copies: the copies, as indices in `compared`.
    """

    collected: Dataset
    results: dict[str, Filtered] = field(default_factory=dict)
    valid: frozenset[str] = frozenset()
    applied_rules: validate.AppliedRules | None = None
    compared: Sequence[int] = ()
    copies: CopiesToOmit = field(default_factory=lambda: CopiesToOmit({}, {}, (), ()))

    @property
    def remaining(self) -> Dataset:
        return list(self.results.values())[-1].kept if self.results else self.collected

    def find_remaining_rows(self) -> list[int]:
        return [self.collected.row(problem_id) for problem_id in self.remaining.ids]

    def check_not_empty(self) -> None:
        if len(self.remaining):
            return
        dropped = Counter(
            f"{stage} ({entry.reason.partition(':')[0]})"
            for stage, result in self.results.items()
            for entry in result.dropped
        )
        reasons = ", ".join(f"{count:,} by {what}" for what, count in dropped.most_common())
        raise DataError(
            f"no problems are left to filter; of {len(self.collected):,} collected, these "
            f"were dropped: {reasons or 'none'}. Run `winosmith check` to list them"
        )

    def map_dropped_by_row(self) -> dict[int, Dropped]:
        return {
            self.collected.row(entry.problem.id): entry
            for result in self.results.values()
            for entry in result.dropped
        }


def drop_invalid(stages: Stages, recipe: Recipe, votes: Sequence[Response]) -> None:
    embargoed = {
        row: "embargo: not to be published" for row, p in enumerate(stages.remaining) if p.embargo
    }
    if embargoed:
        stages.results["embargo"] = stages.remaining.drop(embargoed, "embargo")
    # From all problems, because a judge has read a half even if it is under embargo.
    counted, aside = validate.select_eligible(
        stages.collected, votes, both_halves=recipe.votes.both_halves
    )
    responses = counted if list_paths(recipe.votes_file) else None  # a file may have no votes yet
    checked = validate.check(stages.remaining, responses, recipe.structure, recipe.votes)
    hidden = {stages.collected[row].id for row in embargoed}
    ignored = [one for one in aside if one.response.purpose != "test"]
    if reasons := Counter(one.reason for one in ignored if one.response.problem_id not in hidden):
        counts = "; ".join(f"{count:,}: {reason}" for reason, count in reasons.most_common())
        note = f"{reasons.total():,} of {len(votes):,} votes are not counted ({counts})"
        warnings.warn(note, formats.ReadingNote, stacklevel=4)
    stages.results.update(checked.filtered)
    stages.valid, stages.applied_rules = checked.valid, checked.applied_rules


def drop_copies(stages: Stages, recipe: Recipe, known: Collection[str]) -> None:
    """Remove copies, but prefer to keep problems that were published before (`known`).

    This stage follows the checks: if copies have different answers, judges may have rejected one of
    them, and copies that break a rule can no longer be chosen.
    """
    stages.compared = stages.find_remaining_rows()
    stages.copies = find_copies_to_omit(stages.remaining, recipe.seed, known)
    if recipe.copies == "once" and stages.copies.reasons:
        stages.results[COPIES] = stages.remaining.drop(dict(stages.copies.reasons), COPIES)


def set_aside_for_tuning(
    stages: Stages, recipe: Recipe, order: Sequence[Sequence[int]]
) -> tuple[Dataset, Dataset] | None:
    """Set aside the problems for fine-tuning the encoder; return its training and dev sets.

    These problems are drawn in whole blocks and removed from the benchmark. If `winosmith embed
    --finetune` wrote the array of vectors, the array lists the problems that fine-tuned its
    encoder. These are removed without training. See WinoGrande (section 3).
    """
    known: set[str] = set() if recipe.embed.array is None else read_tuning_ids(recipe.embed.array)
    sizes = recipe.embed.finetune_train, recipe.embed.finetune_dev
    parts, ids = None, stages.collected.ids
    if any(sizes):
        free = [row for row in stages.find_remaining_rows() if ids[row] not in known]
        train, dev = draw_blocks(order, free, sizes)
        known |= {ids[row] for row in (*train, *dev)}
        parts = stages.collected.select(train), stages.collected.select(dev)
    stage, reason = USED_FOR_TUNING
    rows = {row: reason for row, problem in enumerate(stages.remaining) if problem.id in known}
    if rows:
        stages.results[stage] = stages.remaining.drop(rows, stage)
    return parts


def read_tuning_ids(array: str) -> set[str]:
    if not zipfile.is_zipfile(array):
        return set()
    with np.load(array, allow_pickle=False) as arrays:
        lists = [arrays[key] for key in ("train_ids", "dev_ids") if key in arrays.files]
    return {str(problem_id) for ids in lists for problem_id in ids}


COPIES = "copies"
"""Name of the stage that removes copies."""

MAX_EXAMPLES = 3
"""Maximum number of groups of copies that a report lists."""

_COPY = "copy: identical to a kept problem"
_OTHER_HALF_COPIED = "copy: the other half is identical to a kept problem"
_IDENTICAL_HALVES = "copy: both halves are identical"
_CONTRADICTED = "contradictory: a copy has a different answer"
_OTHER_HALF_CONTRADICTED = "contradictory: a copy of the other half has a different answer"


@dataclass(frozen=True, slots=True)
class CopiesToOmit:
    """The rows to omit from a data set so that no problem occurs twice.

    Attributes:
        reasons: the reason for omitting each row.
        copy_of: the kept row of which each omitted row is a copy.
        groups: the rows of each group of identical problems.
        contradictory: the groups whose problems have different answers.
    """

    reasons: Mapping[int, str]
    copy_of: Mapping[int, int]
    groups: Sequence[Sequence[int]]
    contradictory: Sequence[Sequence[int]]


def find_copies_to_omit(dataset: Dataset, seed: int, known: Collection[str] = ()) -> CopiesToOmit:
    """Find the copies and contradictory problems to omit, so that each problem occurs once.

    A twin is kept or removed as a whole, so that no half becomes a single. A removed half therefore
    need not be a copy. If a single is a copy of a half, the single is removed. Of twins that share
    a half, the twin that excludes the fewest others is kept.

    Ties depend on the following, in this order: whether the problem was published before (`known`),
    whether it is not perturbed, and a digest of the seed, the sentences and the ids. They never
    depend on the order of rows or options, or on answers.

    >>> from winosmith import Problem
    >>> fell = [Problem(id_, "The _ fell.", ("cup", "jug"), 0) for id_ in "ab"]
    >>> found = find_copies_to_omit(Dataset(fell), 0)
    >>> len(found.reasons), set(found.reasons.values())
    (1, {'copy: identical to a kept problem'})
    """
    groups = find_copies(dataset)
    against = find_contradictions(dataset, groups)
    alike = {row: rows[0] for rows in groups for row in rows}
    wrong = {row for rows in against for row in rows}
    units = [*dataset.twins, *((row,) for row in dataset.singles)]
    reasons = {
        row: _CONTRADICTED if row in wrong else _OTHER_HALF_CONTRADICTED
        for unit in units
        if not wrong.isdisjoint(unit)
        for row in unit
    }
    concerned = [
        unit
        for unit in units
        if not alike.keys().isdisjoint(unit) and reasons.keys().isdisjoint(unit)
    ]
    holders = Counter(of for unit in concerned for of in {alike.get(row, row) for row in unit})

    def rank(unit: tuple[int, ...]) -> tuple[object, ...]:
        problems = [dataset[row] for row in unit]
        return (
            len(unit) == 1,
            sum(holders[alike.get(row, row)] - 1 for row in unit),
            not any(problem.id in known for problem in problems),
            any(problem.lineage for problem in problems),
            sorted(_compute_digest(seed, problem.sentence) for problem in problems),
            sorted(_compute_digest(seed, problem.id) for problem in problems),
        )

    stays: dict[int, int] = {}
    gone: list[tuple[int, ...]] = []
    for unit in sorted(concerned, key=rank):
        distinct = {alike.get(row, row): row for row in unit}
        if len(distinct) == len(unit) and stays.keys().isdisjoint(distinct):
            stays |= distinct
        else:
            gone.append(unit)
    of = {row: stays[alike[row]] for unit in gone for row in unit if alike.get(row) in stays}
    for unit in gone:
        other = _OTHER_HALF_COPIED if any(row in of for row in unit) else _IDENTICAL_HALVES
        reasons |= {row: _COPY if row in of else other for row in unit}
    return CopiesToOmit(reasons, of, groups, against)


def _compute_digest(seed: int, text: str) -> bytes:
    return hashlib.sha256(f"{seed}\0{text}".encode()).digest()


def make_copies_record(
    found: CopiesToOmit, rule: Copies, ids: Sequence[str], shown: Collection[str]
) -> dict[str, Any]:
    """Make the "copies" object of a build's report.

    Only copies with published ids in `shown` are listed, because a copy of a test problem would
    reveal that problem.
    """
    named = [[ids[row] for row in rows] for rows in found.groups]
    if not named:
        return {}
    against = {*map(tuple, found.contradictory)}
    none_left = sum(
        tuple(rows) not in against and found.reasons.keys() >= {*rows} for rows in found.groups
    )
    return {
        "rule": rule,
        "groups": len(named),
        "problems": sum(map(len, named)),
        "contradictory": len(found.contradictory),
        "left_out": len(found.reasons) if rule == "once" else 0,
        "none_left": none_left if rule == "once" else 0,
        "examples": [of for of in named if all(id_ in shown for id_ in of)][:MAX_EXAMPLES],
    }


def describe_copies(record: Mapping[str, Any] | None) -> list[str]:
    """Describe the copies and how they were handled, in sentences.

    >>> found = {"rule": "once", "groups": 2, "problems": 4, "contradictory": 1, "left_out": 3}
    >>> for line in describe_copies({**found, "examples": [["mine-3", "mine-7"]]}):
    ...     print(line)
    4 problems are copies of 2 (mine-3 and mine-7): one of each is kept, in whole twins; 3 are removed
    1 of the 2 has copies with different answers: all of them are removed; correct their answers
    """  # noqa: E501
    if not record:
        return []
    groups, against = record["groups"], record["contradictory"]
    named = "; ".join(map(join_names, record["examples"]))
    whole = f"{record['problems']:,} problems are copies of {groups:,}{named and f' ({named})'}"
    once, none = record["rule"] == "once", record.get("none_left", 0)
    but = f" (for {none:,}, none, because no whole twin can be kept)" if none else ""
    lines = [
        f"{whole}: one of each is kept, in whole twins{but}; {record['left_out']:,} are removed"
        if once
        else f'{whole}: all are kept; use copies = "once" to keep one of each'
    ]
    if against:
        have = "has" if against == 1 else "have"
        done = "all of them are removed; correct" if once else "correct"
        lines.append(
            f"{against:,} of the {groups:,} {have} copies with different answers: {done} their "
            "answers"
        )
    return lines
