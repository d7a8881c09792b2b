"""Draw roots, perturb them into children, and assemble sets, as in EvoGrad (2024).

`evolve` returns the children of every problem. `resume_children` also saves them, so that an
interrupted run can resume. The roots of families are problems that every solver answers correctly
(section 3.1). The sets are small, medium and large, and are split by root (section 3.4).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from string import ascii_uppercase
from typing import IO, Any, Protocol

import numpy as np

from winosmith.blocks import find_blocks, shuffle_blocks, spread_embargo
from winosmith.dataset import Dataset, Dropped, Filtered
from winosmith.errors import DataError, InputError
from winosmith.lineage import UNVALIDATED, depths
from winosmith.outputs import atomic_write
from winosmith.parallel import ordered_map
from winosmith.prediction import Prediction
from winosmith.problem import MAX_OPTIONS, Origin, Problem
from winosmith.records import dump_json, make_problem_record, parse_json, parse_problem
from winosmith.results import Result
from winosmith.seen import check_blanks
from winosmith.text import tokenize


class Perturber(Protocol):
    """Creates perturbed children of a problem.

    Each child is a problem with a lineage (`winosmith.lineage.make_child`) and is marked as
    unvalidated. The children and their order depend only on the problem and the seed. All children
    differ from each other and from the parent.
    """

    def perturb(self, problem: Problem, seed: int) -> Iterable[Problem]:
        """Return or yield the children of a problem."""
        ...


_CHUNK = 64
"""Number of problems in a chunk. An interruption loses one chunk of work per worker."""

_CHUNKS_PER_WORKER = 4
"""Number of chunks in progress per worker, so that no worker is idle during the slowest chunk."""


@dataclass(frozen=True)
class Evolution(Result):
    """The result of perturbing a data set.

    Attributes:
        dataset: the given problems, then the children.
        children: only the children, in the order of their parents.
        repeated: the children that were removed because they repeat an earlier problem.
        barren: ids of the problems without children.
    """

    dataset: Dataset
    children: Dataset
    repeated: tuple[Dropped, ...]
    barren: tuple[str, ...]


def evolve(
    dataset: Dataset,
    perturber: Perturber,
    *,
    seed: int = 0,
    executor: Executor | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> Evolution:
    """Perturb every problem of a data set once.

    The result does not depend on the executor: a child depends only on its parent and the seed.

    Args:
        dataset: the problems to perturb.
        perturber: makes the children. It must be picklable if the executor uses processes.
        seed: random seed of the perturber.
        executor: runs the work; by default, the current process does.
        on_progress: called with the number of finished problems.

    >>> from winosmith.testing import make_twins
    >>> class Shout:
    ...     def perturb(self, problem, seed):
    ...         from winosmith.lineage import make_child
    ...         loud = problem.sentence.replace(".", "!")
    ...         yield make_child(problem, loud, problem.options, problem.answer, source="shout")
    >>> evolve(make_twins(2), Shout())
    Evolution(dataset=<8 values>, children=<4 values>)
    """
    made: list[list[Problem]] = []
    for chunk in make_children(dataset.problems, perturber, seed, executor):
        made += chunk
        if on_progress is not None:
            on_progress(len(made))
    return merge_children(dataset, made)


def make_children(
    problems: Sequence[Problem], perturber: Perturber, seed: int, executor: Executor | None = None
) -> Iterator[list[list[Problem]]]:
    """Yield the children of each problem, chunk by chunk, in order."""
    check_blanks(problems, "a perturbation", unique=True)
    chunks = [problems[at : at + _CHUNK] for at in range(0, len(problems), _CHUNK)]
    yield from ordered_map(
        partial(_perturb_chunk, perturber, seed),
        chunks,
        executor,
        max_pending=2 * _CHUNKS_PER_WORKER,
        advice="run the same command again; finished work is saved",
    )


def _perturb_chunk(
    perturber: Perturber, seed: int, problems: Sequence[Problem]
) -> list[list[Problem]]:
    return [list(perturber.perturb(problem, seed)) for problem in problems]


def merge_children(dataset: Dataset, children: Sequence[Sequence[Problem]]) -> Evolution:
    """Combine problems with their children, and drop those that repeat an earlier problem.

    Two problems are equal if their tokens and options are equal, ignoring case and the order of
    options.

    Args:
        dataset: the parents.
        children: the children of each parent.
    """
    said = {_make_content_key(problem): problem.id for problem in dataset}
    ids = set(dataset.ids)
    kept: list[Problem] = []
    repeated: list[Dropped] = []
    row = len(dataset)
    for family in children:
        for child in family:
            earlier = said.get(_make_content_key(child), child.id if child.id in ids else None)
            if earlier is None:
                said[_make_content_key(child)] = child.id
                ids.add(child.id)
                kept.append(child)
            else:
                repeated.append(Dropped(child, "evolve", f"it repeats {earlier!r}", row))
            row += 1
    pairs = zip(dataset, children, strict=True)
    barren = tuple(problem.id for problem, family in pairs if not family)
    return Evolution(
        Dataset([*dataset, *kept], dataset.name),
        Dataset(kept, dataset.name),
        tuple(repeated),
        barren,
    )


def _make_content_key(problem: Problem) -> tuple[object, ...]:
    options = sorted(option.lower() for option in problem.options)
    return (*tokenize(problem.sentence.lower()), None, *options)


def resume_children(
    problems: Sequence[Problem],
    perturber: Perturber,
    seed: int,
    path: Path,
    *,
    executor: Executor | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> list[list[Problem]]:
    """Return the children of each problem, and save finished work.

    The same call resumes the work. The file contains a line for each parent. An incomplete last
    line is ignored.

    Args:
        problems: the problems to perturb.
        perturber: makes the children. It must be picklable if the executor uses processes.
        seed: random seed of the perturber.
        path: path of the file with the finished work. The caller removes the file at the end.
        executor: runs the work; by default, the current process does.
        on_progress: called with the number of finished problems and the number of children.
    """
    done: dict[str, list[Problem]] = {}
    if path.exists():
        text = path.read_text("utf-8", errors="replace")  # the end may be cut inside a character
        for record in map(parse_json, filter(None, text.split("\n")[:-1])):
            done[record["parent"]] = [parse_problem(child) for child in record["children"]]
    left = [problem for problem in problems if problem.id not in done]

    def report_progress() -> None:
        if on_progress is not None:
            finished = sum(problem.id in done for problem in problems)
            on_progress(finished, sum(map(len, done.values())))

    with atomic_write(path) as file:  # drops an incomplete last line
        for parent, family in done.items():
            _write_family(file, parent, family)
    with path.open("a", encoding="utf-8") as file:
        report_progress()
        waiting = iter(left)
        for chunk in make_children(left, perturber, seed, executor):
            for family in chunk:
                parent = next(waiting).id
                done[parent] = family
                _write_family(file, parent, family)
            file.flush()
            report_progress()
    return [done[problem.id] for problem in problems]


def _write_family(file: IO[str], parent_id: str, family: Sequence[Problem]) -> None:
    record = {"parent": parent_id, "children": [make_problem_record(child) for child in family]}
    file.write(dump_json(record) + "\n")


@dataclass(frozen=True)
class Roots(Result):
    """The roots drawn from data sets.

    Attributes:
        dataset: the roots, with distinct ids, no twins, and the name of their data set as
            `origin.source`.
        sources: maps the name of each data set to the original ids of the roots drawn from it.
        omitted: for each data set, the problems that were not drawn, with the reason.
    """

    dataset: Dataset
    sources: Mapping[str, tuple[str, ...]]
    omitted: tuple[Filtered, ...]


def find_unsolved_ids(dataset: Dataset, solvers: Sequence[Sequence[Prediction]]) -> frozenset[str]:
    """Return the ids of problems that some solver answers incorrectly, or that no solver decides.

    A tie is neither correct nor incorrect, because taking the first option as the choice would make
    the roots depend on the order of options. An invalid answer is incorrect.

    Args:
        dataset: problems with answers.
        solvers: the predictions of each solver, in the order of the data set.

    >>> data = Dataset([Problem(str(n), "The _ fell.", ("cup", "jug"), 0) for n in range(4)])
    >>> one = [Prediction("0", 0, (2, 1)), Prediction("1", 0, (1, 1)), Prediction("2", 1),
    ...        Prediction("3", 0, (1, 1))]
    >>> two = [Prediction(str(n), 0, (1, n)) for n in range(3)] + [Prediction("3", 0, (2, 1))]
    >>> sorted(find_unsolved_ids(data, [one])), sorted(find_unsolved_ids(data, [one, two]))
    (['1', '2', '3'], ['1', '2'])
    >>> sorted(find_unsolved_ids(data, [two, [Prediction(str(n), None) for n in range(4)]]))
    ['0', '1', '2', '3']
    """
    said = zip(*solvers, strict=True) if solvers else [()] * len(dataset)
    return frozenset(
        problem.id
        for problem, given in zip(dataset, said, strict=True)
        if not (decided := [one for one in given if len(one.chosen) < 2])
        or any(one.credit(problem.answer) < 1 for one in decided)
    )


def draw_roots(
    datasets: Sequence[Dataset],
    counts: Sequence[int],
    unsolved: Sequence[frozenset[str]] = (),
    seed: int = 0,
    *,
    allow_fewer: bool = False,
    options: int | None = None,
) -> Roots:
    """Draw roots at random from the problems that every solver answers correctly.

    The paper drew 7 roots from WSC273 and 7 from WinoGrande's dev set. At most one problem of a
    block (twins, a family, look-alikes) is drawn. Problems that are under embargo, have no answer
    or are already perturbed are not drawn.

    A model trained on a root's children has seen the root's data set (`Roots.sources`), and should
    not be evaluated on that data set.

    Args:
        datasets: data sets with distinct names.
        counts: number of roots from each data set.
        unsolved: for each data set, the ids of problems that can't be roots (`find_unsolved_ids`).
        seed: random seed of the draw.
        allow_fewer: whether to draw fewer roots from a data set with too few suitable problems.
        options: required number of options; by default, any number.

    Raises:
        InputError: `counts` does not have one number, 0 or more, for each data set.
        DataError: a data set has too few suitable problems, or two data sets have the same name.
    """
    unsolved = unsolved or [frozenset()] * len(datasets)
    if not len(datasets) == len(counts) == len(unsolved) or min(counts, default=0) < 0:
        raise InputError(
            f"there are {len(datasets)} data sets and {len(counts)} root counts; give one "
            "count, 0 or more, for each data set"
        )
    names = [dataset.name for dataset in datasets]
    if len(set(names)) < len(names):
        raise DataError("two data sets have the same name; rename one of them")
    times = Counter(problem_id for dataset in datasets for problem_id in dataset.ids)
    roots: list[Problem] = []
    sources: dict[str, tuple[str, ...]] = {}
    omitted: list[Filtered] = []
    for number, dataset in enumerate(map(spread_embargo, datasets)):
        rows, reasons = _draw_rows(
            dataset, counts[number], unsolved[number], seed + number, allow_fewer, options
        )
        for problem in map(dataset.__getitem__, rows):
            name = f"{dataset.name}:{problem.id}" if times[problem.id] > 1 else problem.id
            origin = replace(problem.origin or Origin(), source=dataset.name)
            roots.append(replace(problem, id=name, twin_id=None, origin=origin))
        sources[dataset.name] = tuple(dataset[row].id for row in rows)
        omitted.append(dataset.drop(reasons, "roots"))
    return Roots(Dataset(roots, "roots"), sources, tuple(omitted))


def _draw_rows(
    dataset: Dataset,
    count: int,
    unsolved: frozenset[str],
    seed: int,
    allow_fewer: bool,
    options: int | None,
) -> tuple[list[int], dict[int, str]]:
    reasons = {
        row: reason
        for row, problem in enumerate(dataset)
        if (reason := _reject_as_root(problem, unsolved, options)) is not None
    }
    luck = np.random.default_rng(seed)
    chosen: list[int] = []
    free = 0
    for block in shuffle_blocks(dataset, seed):
        fit = [row for row in block if row not in reasons]
        free += bool(fit)
        if fit and len(chosen) < count:
            row = fit[int(luck.integers(len(fit)))]
            chosen.append(row)
            others = f"it is related to the root {dataset[row].id!r}"
            reasons |= {other: others for other in fit if other != row}
        else:
            reasons |= dict.fromkeys(fit, "enough roots were drawn")
    if len(chosen) < count and not allow_fewer:
        raise DataError(
            f"only {free} roots, not {count}, can be drawn from the {len(dataset)} problems of "
            f"{dataset.name!r}; ask for fewer roots. A root needs an answer that every solver "
            f"gives, {f'{options} options, ' * (options is not None)}no embargo, no parent, and no "
            "relation to another root"
        )
    return sorted(chosen), reasons


def _reject_as_root(problem: Problem, unsolved: frozenset[str], options: int | None) -> str | None:
    if problem.embargo:
        return "it is under embargo"
    if not problem.blank_is_unique:
        return "it is a question" if problem.blank is None else "it has a '_' that isn't its blank"
    if problem.answer is None:
        return "its answer is withheld"
    if options is not None and len(problem.options) != options:
        return f"it has {len(problem.options)} options"
    if problem.lineage is not None:
        return "it is a perturbation"
    return "not every solver answers it correctly" if problem.id in unsolved else None


PARTS = ("train", "dev", "test")

SHARES = (10, 2, 2)
"""Relative sizes of train, dev and test: roots 1–10, 11–12 and 13–14 of EvoGrad's table 1."""

LETTERS = ascii_uppercase[:MAX_OPTIONS]
"""Letters that label the options in a report."""


@dataclass(frozen=True)
class Sets(Result):
    """EvoGrad's small, medium and large data sets (section 3.4).

    Attributes:
        small: the roots and the children that people wrote.
        medium: for each part, the roots and their children before words are replaced with synonyms.
        large: train and dev of `medium` with the children made by replacing words with synonyms,
            and test of `medium`.
        dropped: problems that are related to a problem of another part, with the reason.
    """

    small: Dataset
    medium: Mapping[str, Dataset]
    large: Mapping[str, Dataset]
    dropped: tuple[Dropped, ...]


def split_roots(roots: Dataset, shares: Sequence[int] = SHARES, seed: int = 0) -> dict[str, str]:
    """Assign roots to train, dev and test at random, with at least one root in each part.

    Args:
        roots: roots of the families.
        shares: relative sizes of train, dev and test: three whole numbers of 1 or more.
        seed: random seed of the draw.

    Returns:
        The part of each root, by root id.

    Raises:
        InputError: `shares` are not three numbers of 1 or more.
        DataError: there are fewer than three roots.

    >>> from winosmith.testing import make_twins
    >>> from collections import Counter
    >>> roots = make_twins(14).select(range(0, 28, 2))
    >>> sorted(Counter(split_roots(roots).values()).items())
    [('dev', 2), ('test', 2), ('train', 10)]
    """
    if len(shares) != len(PARTS) or min(shares) < 1:
        raise InputError("the relative split sizes must be three positive whole numbers")
    if len(roots) < len(PARTS):
        raise DataError(f"{len(roots)} roots can't be split into train, dev and test")
    held = [max(1, round(len(roots) * share / sum(shares))) for share in shares[1:]]
    while len(roots) - sum(held) < 1:
        held[held.index(max(held))] -= 1
    order = np.random.default_rng(seed).permutation(len(roots))
    parts = ["train"] * (len(roots) - sum(held)) + ["dev"] * held[0] + ["test"] * held[1]
    return {roots[int(row)].id: part for row, part in zip(order, parts, strict=True)}


def assemble(
    small: Dataset,
    medium: Dataset,
    large: Dataset,
    parts: Mapping[str, str],
    *,
    extend_test: bool = False,
) -> Sets:
    """Assemble the small, medium and large data sets, split by family into train, dev and test.

    A family is assigned to the part of its root. If problems of two parts are related (see
    `winosmith.blocks`), those in the earlier part (train, dev, test) are dropped.

    Args:
        small: the roots and the children that people wrote.
        medium: the roots and all their children.
        large: `medium` and the children of its problems.
        parts: the part of each root, from `split_roots`.
        extend_test: whether the test set of `large` includes children made by replacing words with
            synonyms. According to the paper's text, all 1,414 problems were augmented, but the
            paper's sizes (3,489 from 1,212) exclude the test set.
    """
    everything = Dataset({p.id: p for data in (small, medium, large) for p in data}.values())
    part_of = [parts[problem.root] for problem in everything]
    reasons: dict[int, str] = {}
    for block in find_blocks(everything):
        stays = max((part_of[row] for row in block), key=PARTS.index)
        reason = f"it is related to problems of {stays}"
        reasons |= {row: reason for row in block if part_of[row] != stays}
    dropped = tuple(
        Dropped(everything[row], "split", reason, row) for row, reason in sorted(reasons.items())
    )
    removed = {left.problem.id for left in dropped}

    def split_by_part(data: Dataset) -> dict[str, Dataset]:
        kept = [problem for problem in data if problem.id not in removed]
        return {name: Dataset((p for p in kept if parts[p.root] == name), name) for name in PARTS}

    by_part, grown = split_by_part(medium), split_by_part(large)
    return Sets(
        Dataset((p for p in small if p.id not in removed), "small"),
        by_part,
        grown if extend_test else {**grown, "test": by_part["test"]},
        dropped,
    )


def describe_part(dataset: Dataset, families: Dataset) -> dict[str, Any]:
    """Return statistics of a part: size, balance, depths, sources and unvalidated problems.

    Args:
        dataset: the part.
        families: a data set with the part's problems and all their ancestors, to compute depths.
    """
    by_id = dict(zip(families.ids, depths(families), strict=True))
    found = [by_id[problem.id].edit for problem in dataset]
    known = [depth for depth in found if depth is not None]
    return {
        "problems": len(dataset),
        "families": len(dataset.families),
        "answers": _count_values(
            LETTERS[p.answer] if p.answer is not None else "—" for p in dataset
        ),
        "sources": _count_values(
            "root"
            if problem.lineage is None
            else (problem.origin and problem.origin.source) or "unknown"
            for problem in dataset
        ),
        "edit_depth": _count_values(known),
        "mean_edit_depth": sum(known) / len(known) if known else None,
        "unvalidated": sum(bool(problem.extra.get(UNVALIDATED)) for problem in dataset),
        "digest": dataset.digest,
    }


def _count_values(values: Iterable[Any]) -> dict[str, int]:
    return {str(value): count for value, count in sorted(Counter(values).items())}
