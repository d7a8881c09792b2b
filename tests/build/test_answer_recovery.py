"""Attempts to recover test answers from the published files: by id, hash, order and partner.

The attackers know the code, the recipe, its seed and every published file.
"""

import hashlib
import json
import re
from dataclasses import replace
from itertools import product

import pytest

from tests.build.conftest import AFLITE
from winosmith import Dataset, formats, metrics
from winosmith.records import dump_json, make_problem_record, parse_problem
from winosmith.testing import make_twins
from winosmith.text import compute_overlap, split_words


def public_files(built):
    """Return the published files: all files outside private/."""
    return sorted(
        path
        for path in built.folder.rglob("*")
        if path.is_file() and "private" not in path.relative_to(built.folder).parts
    )


def answers(built):
    """Return the private test answers, by id."""
    return {p.id: p.answer for p in formats.read(built.folder / "private" / "test.jsonl")}


def answered_records(built):
    """Return every published problem whose answer is published."""
    found = []
    for path in public_files(built):
        if path.suffix == ".jsonl":
            for line in path.read_text("utf-8").splitlines():
                record = json.loads(line)
                record = {k: v for k, v in record.items() if k not in ("stage", "reason")}
                if "answer" in record:
                    found.append(parse_problem(record))
    return found


def test_no_test_answer_is_published(small_build):
    hidden = answers(small_build)
    assert len(hidden) > 30
    assert not {p.id for p in answered_records(small_build)} & hidden.keys()
    assert all(p.answer is None for p in formats.read(small_build.folder / "test.jsonl"))


def test_original_ids_and_twin_ids_are_unpublished(small_build, telling_twins):
    old = {p.id for p in telling_twins} | {p.twin_id for p in telling_twins}
    for path in public_files(small_build):
        text = path.read_text("utf-8")
        assert not [name for name in old if f'"{name}"' in text], path.name


def test_no_field_of_the_test_set_leaks_answers(small_build):
    published = formats.read(small_build.folder / "test.jsonl")
    hidden = answers(small_build)
    told = Dataset(replace(p, answer=hidden[p.id]) for p in published)
    assert metrics.find_leaks(told) == ()


def test_leaks_of_the_collected_ids_are_found(telling_twins):
    """So the search would have found the original ids in the published test set."""
    assert metrics.find_leaks(telling_twins)


def test_no_twin_of_a_test_problem_has_a_public_answer(small_build):
    """Unmarked twins, with equal options and similar sentences, count too."""
    answered = answered_records(small_build)
    for hidden in formats.read(small_build.folder / "test.jsonl"):
        for other in answered:
            assert hidden.twin_id is None or other.twin_id != hidden.twin_id
            same = set(other.options) == set(hidden.options)
            assert not (
                same
                and compute_overlap(split_words(other.sentence), split_words(hidden.sentence))
                >= 0.7
            )


def test_no_published_hexadecimal_is_a_digest_of_answers(make_build):
    """The test tries all 2^n answers of n test problems."""
    built = make_build(
        make_twins(12), split={"dev": 0.1, "test": 0.3}, filter={"method": "random", "keep": 20}
    )
    blind = formats.read(built.folder / "test.jsonl")
    text = "\n".join(path.read_text("utf-8") for path in public_files(built))
    published = set(re.findall(r"[0-9a-f]{12,}", text))
    assert published
    assert len(blind) <= 8
    for guess in product((0, 1), repeat=len(blind)):
        told = [replace(p, answer=a) for p, a in zip(blind, guess, strict=True)]
        candidates = [
            "".join(f"{answer + 1}\n" for answer in guess),
            "".join(dump_json(make_problem_record(p)) + "\n" for p in told),
        ]
        digests = [hashlib.sha256(c.encode()).hexdigest() for c in candidates]
        digests.append(Dataset(told).digest)
        assert not [d for d in digests if d in published or d[:12] in published]


@pytest.mark.parametrize("method", ["random", "none"])
def test_published_problems_do_not_depend_on_test_answers(make_build, telling_twins, method):
    """The filters don't use answers here: flipping all test twins changes no published problem."""
    table = {"method": method} | ({"keep": 200} if method == "random" else {})
    built = make_build(telling_twins, filter=table)
    lines = (built.folder / "private" / "ids.jsonl").read_text("utf-8").splitlines()
    old_of = {record["id"]: record["old_id"] for record in map(json.loads, lines)}
    twins = {telling_twins[telling_twins.row(old_of[new])].twin_id for new in answers(built)}
    flipped = Dataset(
        replace(p, answer=1 - p.answer) if p.twin_id in twins else p for p in telling_twins
    )
    again = make_build(flipped, filter=table)
    assert answers(again) != answers(built)
    compared = 0
    for one, other in zip(public_files(built), public_files(again), strict=True):
        if one.suffix in (".jsonl", ".lst"):
            assert one.read_bytes() == other.read_bytes(), one.name
            compared += 1
    assert compared >= 8


def test_input_order_and_ids_do_not_affect_public_files(make_build, small_build, telling_twins):
    renamed = {p.twin_id: f"r{number}" for number, p in enumerate(reversed(telling_twins))}
    other = Dataset(
        replace(p, id=f"z{number:03d}", twin_id=renamed[p.twin_id])
        for number, p in enumerate(reversed(telling_twins))
    )
    again = make_build(other, filter=AFLITE)
    for mine, theirs in zip(public_files(small_build), public_files(again), strict=True):
        if mine.name != "run.json":
            assert mine.read_bytes() == theirs.read_bytes(), mine.name
