"""From a source to the content of a release, without the problems that must not be published."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated

from pydantic import Field

from winosmith import validate
from winosmith.blocks import Disjoint, blocks
from winosmith.dataset import Dataset
from winosmith.errors import DataError, InputError
from winosmith.humans import canary
from winosmith.metrics import Copies, copies
from winosmith.options import declaration
from winosmith.problem import Lineage, Problem
from winosmith.release import _content
from winosmith.release._about import About
from winosmith.release._changes import changes, digest_ids, id_of, tombstones
from winosmith.release._interchange import JUDGED_BY, REMOVED_BY
from winosmith.release._source import Fields, Previous, Source, with_provenance
from winosmith.release._verify import Secrets, faults_of, read_secrets

_SHOWN = 3
"""The number of faults with the same remedy in an error."""


@declaration
class Splitting:
    """What the sides of a release don't share, and how one file is split."""

    disjoint: Annotated[tuple[Disjoint, ...], Field(strict=False)] = ()
    """What train, dev and test must not share; they never share twins, families and copies. A file
    that is not split is split. Repeat the option for both."""
    dev: Annotated[float, Field(ge=0, le=1)] = 0.1
    """Fraction of dev, if a file is split."""
    test: Annotated[float, Field(ge=0, le=1)] = 0.14
    """Fraction of test, if a file is split."""
    seed: int = 0
    """Random seed of the split."""

    def __post_init__(self) -> None:
        if self.dev + self.test >= 1:
            raise ValueError(
                f"dev ({self.dev}) and test ({self.test}) leave nothing to train on; their sum "
                "must be below 1"
            )

    @property
    def kinds(self) -> tuple[str, ...]:
        """What two sides must not share, twins included."""
        return tuple(kind for kind in _content.KINDS if kind == "twin" or kind in self.disjoint)


@dataclass(frozen=True, eq=False)
class Gathered:
    """The content of a release, and the files of its owner.

    Attributes:
        content: what is released, checked.
        solved: the known answers of test problems, by their ids in the release.
        source_ids: the id that each problem has in its source, if the release has other ids.
    """

    content: _content.Content
    solved: Mapping[str, int | None]
    source_ids: Mapping[str, str]

    @property
    def answered(self) -> dict[str, Problem]:
        """The test problems with their answers, by their ids in the release, as far as known."""
        return {
            problem.id: replace(problem, answer=self.solved[problem.id])
            for problem in self.content.parts.get(_content.TEST, ())
            if problem.id in self.solved
        }

    @property
    def copies(self) -> Copies:
        """Identical problems, and contradictions among them, also in test if it is answered."""
        answered = self.answered
        return copies(Dataset(answered.get(p.id, p) for p in self.content.dataset))


def gathered(
    source: Source,
    about: About,
    before: Previous | None,
    splitting: Splitting,
    judges: Callable[[Problem], Fields],
    new_ids: bool,
    leave_out: bool,
) -> Gathered:
    """Return the checked content of a release, and the files of its owner.

    Raises:
        InputError: the previous release is of another benchmark, or of the same version.
        DataError: problems must not be released as they are.
    """
    digest = new_ids or bool(source.build)
    hidden = {p.id for dataset in source.parts.values() for p in dataset if p.embargo}
    left_out = {"under embargo": len(hidden)} if hidden else {}
    parts = _without(source.parts, lambda part, problem: problem.id in hidden)
    _content.check_origins(Dataset(_content.unique(parts).values()), splitting.kinds)
    if splitting.disjoint and list(parts) == [_content.PROBLEMS]:
        parts = _content.split(
            parts[_content.PROBLEMS],
            splitting.kinds,
            dev=splitting.dev,
            test=splitting.test,
            seed=splitting.seed,
            former=before.former if before else (),
        )
    named = digest_ids(parts, about.name, before, source) if digest else dict(parts)
    old_of = {
        new.id: old
        for part, dataset in parts.items()
        for old, new in zip(dataset, named[part], strict=True)
    }
    if before is not None:
        named, more = _without_known(named, before, about, leave_out)
        left_out |= more
    if empty := [part for part, dataset in named.items() if not len(dataset)]:
        raise DataError(f"no problem is left of {empty[0]}; omit its file")
    if _content.TEST in named:
        named[_content.TEST] = Dataset(
            sorted(named[_content.TEST], key=lambda p: (_content.sight(p), p.id)), _content.TEST
        )
    secrets = _secrets(source, named)
    seen = (
        Problem(p.id, p.sentence, p.options, blank=p.blank) for p in _content.unique(named).values()
    )
    mark = before.content.canary if before else canary(Dataset(seen))  # depends on no answer

    def released(part: str, problem: Problem) -> Problem:
        old = old_of[problem.id]
        removed = {} if part == _content.TEST else source.removed.get(old.id, {})
        fields = dict(judges(old))
        if about.judges == "count":
            fields.pop(JUDGED_BY, None)
        return with_provenance(problem, mark, {**fields, **removed}, bare=part == _content.TEST)

    ready = {
        part: Dataset((released(part, problem) for problem in dataset), part)
        for part, dataset in named.items()
    }
    source_ids = {
        id_: source.old_ids.get(old_of[id_].id, old_of[id_].id)
        for id_ in (_content.unique(ready) if digest else ())
    }
    content = _content.Content(
        about,
        ready,
        mark,
        splitting.kinds,
        "digest" if digest else "kept",
        source.build or _unvalidated(named),
        left_out,
    )
    if before is not None:
        found = changes(
            ready, before, about.withdrawn, source_ids, _reasons_of_absence(source, about.name)
        )
        content = replace(
            content,
            previous={"version": before.version, "digest": before.digest},
            tombstones=tombstones(found, before, about),
            changes=found,
            history=before.history,
        )
    _refuse_faults(content, secrets)
    answers = {problem.id: problem.answer for problem in secrets.solved} if secrets else {}
    if source.private is not None:  # the answers of a build are by its own ids
        answers = {new: answers[old.id] for new, old in old_of.items() if old.id in answers}
    return Gathered(content, answers, source_ids)


def _without(
    parts: Mapping[str, Dataset], omits: Callable[[str, Problem], bool]
) -> dict[str, Dataset]:
    return {
        part: Dataset((problem for problem in dataset if not omits(part, problem)), part)
        for part, dataset in parts.items()
    }


def _secrets(source: Source, parts: Mapping[str, Dataset]) -> Secrets | None:
    """Return the contents of a build's private folder, or the test answers of files."""
    if source.private is not None:
        return read_secrets(source.private)
    test = parts.get(_content.TEST)
    return Secrets(test, {}) if test and None not in test.answers else None


def _reasons_of_absence(source: Source, name: str) -> dict[str, str]:
    """Return why the build omits problems, by the ids that they would have in the release."""
    return {
        id_of(problem, name): f"dropped by {source.removed[old][REMOVED_BY]}"
        if old in source.removed
        else "held back"
        for old, problem in source.absent.items()
    }


def _unvalidated(parts: Mapping[str, Dataset]) -> dict[str, dict[str, int]]:
    """Return the number of problems without a valid verdict, as a build reports it."""
    counts = {part: validate.unvalidated(dataset) for part, dataset in parts.items()}
    marked = {part: count for part, count in counts.items() if count}
    return {"unvalidated": marked} if marked else {}


def _refuse_faults(content: _content.Content, secrets: Secrets | None) -> None:
    """Raise DataError with the first faults for each remedy, if there are any."""
    by_remedy: dict[str, list[str]] = {}
    for fault in faults_of(content, secrets):
        by_remedy.setdefault(fault.do, []).append(f"{fault.where}: {fault.what}")
    lines = ["these problems must not be released:"]
    for do, found in by_remedy.items():
        more = [f"and {len(found) - _SHOWN:,} more"] if len(found) > _SHOWN else []
        lines.append("\n".join(found[:_SHOWN] + more) + f"; {do}")
    if by_remedy:
        raise DataError("\n".join(lines))


def _without_known(
    parts: Mapping[str, Dataset], before: Previous, about: About, leave_out: bool
) -> tuple[dict[str, Dataset], dict[str, int]]:
    """Return the parts without withdrawn problems, and test without published answers.

    Raises:
        InputError: the previous release is of another benchmark, or of the same version.
        DataError: there are such problems, and not `leave_out`.
    """
    if before.content.about.name != about.name:
        raise InputError(
            f"the previous release is of {before.content.about.name!r}, this one of "
            f"{about.name!r}; name a release of the same benchmark"
        )
    if before.version == about.version:
        raise InputError(f"{about.version} is the version of the previous release; give a new one")
    dead = {stone.id for stone in before.content.tombstones} - set(about.restored)
    withdrawn = {one for one in _content.unique(parts) if one in dead}
    test = parts.get(_content.TEST, Dataset())
    known = {test[row].id for row in _known_answers(test, before)}
    if (withdrawn or known) and not leave_out:
        raise DataError("\n".join(_refusals(withdrawn, known, before)))
    counts = {
        "withdrawn before": len(withdrawn),
        f"in test, with an answer that {before.version} published": len(known - withdrawn),
    }
    kept = _without(
        parts, lambda part, p: p.id in withdrawn or (part == _content.TEST and p.id in known)
    )
    return kept, {reason: count for reason, count in counts.items() if count}


def _known_answers(test: Dataset, before: Previous) -> list[int]:
    """Return the rows of test problems whose answer was published, or that of a relative.

    Relatives are the other half, the family, copies and near-duplicates.
    """
    answered = [problem for problem in before.problems.values() if problem.answer is not None]
    both = Dataset(
        replace(problem, id=f"{at}", lineage=problem.lineage or Lineage(problem.id, problem.id))
        for at, problem in enumerate((*test, *answered))
    )
    mixed = (block for block in blocks(both) if max(block) >= len(test))
    return [row for block in mixed for row in block if row < len(test)]


def _refusals(withdrawn: set[str], known: set[str], before: Previous) -> Iterator[str]:
    if withdrawn:
        yield (
            f"{len(withdrawn)} problems were withdrawn ({min(withdrawn)!r}, …); add "
            "`leave_out=True`, or name them under restored in release.toml"
        )
    if known:
        yield (
            f"{len(known)} test problems ({min(known)!r}, …) measure nothing: they, their other "
            f"halves, others of their families or copies were published with answers in "
            f"{before.version}; add `leave_out=True`, or move them to train"
        )
