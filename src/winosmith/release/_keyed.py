"""Keyed releases: a secret coin chooses one of two equivalent presentations of each block."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from winosmith.dataset import Dataset
from winosmith.errors import InputError, OutputError
from winosmith.exposure import COINS, Pair, PresentedBlock, draw_key, present_blocks, read_key
from winosmith.lineage import UNVALIDATED
from winosmith.outputs import PRIVATE, atomic_write
from winosmith.problem import Extra, Problem
from winosmith.release import _content
from winosmith.release._about import About
from winosmith.release._source import PreviousRelease, read_record


def present_parts(parts: Mapping[str, Dataset]) -> list[PresentedBlock]:
    """Return the two presentations of each block of problems in all parts.

    Fields specific to the source's format are removed, because they may name options or their
    order.
    """
    sides = {p.id: _content.get_side(part) for part, dataset in parts.items() for p in dataset}
    problems = [
        replace(p, extra=Extra({UNVALIDATED: True} if p.extra.get(UNVALIDATED) else {}))
        for p in _content.index_problems(parts).values()
    ]
    return present_blocks(problems, [sides[problem.id] for problem in problems])


def pair_presentations(
    blocks: Iterable[PresentedBlock], released: Mapping[str, Problem]
) -> tuple[tuple[Pair, ...], _content.CoinStatement]:
    """Pair the presentations of released problems, and count the blocks of each kind.

    `released` maps each id in the source to the released problem in its first presentation. The
    pairs are sorted by block and id. The statement has a placeholder for the commitment.
    """
    pairs, kinds = [], Counter[str | None]()
    for block in blocks:
        if not (ids := [released[p.id].id for p in block.a if p.id in released]):
            continue
        kinds[block.kind] += 1
        for first, second in zip(block.a, block.b, strict=False):  # b may be empty
            if problem := released.get(first.id):
                a = replace(problem, answer=first.answer)
                b = replace(
                    a, sentence=second.sentence, options=second.options, answer=second.answer
                )
                pairs.append(Pair(min(ids), a, b))
    pairs.sort(key=lambda pair: (pair.block, pair.a.id))
    return tuple(pairs), _content.CoinStatement(
        "0" * 64, kinds["names"], kinds["options"], kinds[None]
    )


def map_problems(
    parts: Mapping[str, Dataset], change: Callable[[Problem], Problem]
) -> dict[str, Dataset]:
    """Change each problem, and sort the test part by the changed texts."""
    return _content.sort_test(
        {part: Dataset(map(change, dataset), part) for part, dataset in parts.items()}
    )


def make_form_restorer(
    pairs: tuple[Pair, ...], previous: PreviousRelease
) -> Callable[[Problem], Problem]:
    """Make a function that undoes the changes that coins caused since the previous release."""
    forms = {(form.id, _content.digest_text(form)): form for p in pairs for form in (p.a, p.b)}

    def restore_form(problem: Problem) -> Problem:
        old = previous.problems.get(problem.id)
        form = forms.get((old.id, _content.digest_text(old))) if old else None
        return apply_form(problem, form)

    return restore_form


def apply_form(problem: Problem, form: Problem | None) -> Problem:
    """Return the problem in the given form, but keep a withheld answer withheld."""
    return replace(form, answer=None) if form and problem.answer is None else form or problem


def find_releases(out: Path, about: About) -> list[Path]:
    name = f"{about.name}-{about.version}"
    return [
        folder
        for folder in sorted(out.glob(f"{name}-*"))
        if (folder / _content.RECORD).is_file() and folder.name.rpartition("-")[0] == name
    ]


def make_version_error(folder: Path) -> OutputError:
    return OutputError(
        f"{folder} is another release of this version; a version can be released only once, so "
        "choose a new version, or remove that folder if it was never published"
    )


def get_pending_path(out: Path, about: About) -> Path:
    """Return the path of the file with the secret bytes of an unfinished release."""
    return out / PRIVATE / f"{about.name}-{about.version}.{COINS}"


def get_or_draw_key(out: Path, about: About) -> bytes:
    """Return the secret bytes of a release; draw and save them if there are none yet."""
    path = get_pending_path(out, about)
    if path.is_file():
        return read_key(path)
    for folder in find_releases(out, about):
        own = out / PRIVATE / folder.name / COINS
        if own.is_file():
            return read_key(own)
        record = read_record(folder)
        if not isinstance(record, dict) or record.get("keyed") is None:
            raise make_version_error(folder)
        raise InputError(
            f"{own} is missing, so the coins of this finished release are lost; restore the file "
            "from your copy, or release a new version, which gets new coins"
        )
    key = draw_key()
    with atomic_write(path) as file:
        path.parent.chmod(0o700)
        json.dump({"bytes": key.hex()}, file)
    path.chmod(0o600)
    return key
