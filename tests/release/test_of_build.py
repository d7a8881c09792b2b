"""Releases of finished builds: statements about the filter, and problems that stay private."""

import hashlib
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.conftest import everything
from tests.release.conftest import about, build_pool, found, lines, rewritten, with_parts
from winosmith import Response, formats, practice, validate
from winosmith.errors import DataError, InputError
from winosmith.release import Tombstone, release
from winosmith.release._content import digest_text


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a finished AFLite build."""
    chosen = {"ensemble_size": 16, "train_size": 60, "cutoff": 5, "again": False}
    pool = practice.generate_corpus(120, seed=2).dataset
    return build_pool(tmp_path_factory.mktemp("pool"), pool, filter=chosen, measure={"splits": 1})


def test_release_of_a_build_states_phases_and_funnel(built, tmp_path):
    done = release(built, about(), tmp_path / "out")
    assert found(done.folder, private=built / "private") == []
    assert found(done.folder, private=done.private_folder) == []
    removed = [p for p in done.content.parts["train_xl"] if "release.removed_by" in p.extra]
    assert removed
    assert all(int(str(p.extra["release.phase"])) >= 1 for p in removed)
    kept = {p.id for p in done.content.parts["train_debiased"]}
    assert not kept & {p.id for p in removed}
    old = {p.id for path in built.glob("*.jsonl") if path.stem != "dropped"
           for p in formats.read(path)}  # fmt: skip
    assert not old & set(done.content.dataset.ids)
    card = (done.folder / "README.md").read_text("utf-8")
    assert re.search(r"^\| collected \| 240 \|", card, re.MULTILINE)
    assert re.search(r"^\| aflite \| \d+ \| guessed", card, re.MULTILINE)
    told = {p["id"]: p["answer"] for p in map(json.loads, lines(built / "private/test.jsonl"))}
    by_old = {digest_text(p): told[p.id] for p in formats.read(built / "test.jsonl")}
    solved = formats.read(done.private_folder / "test.jsonl")
    assert [by_old[digest_text(p)] for p in solved] == list(solved.answers)


def test_release_has_no_withheld_text_old_id_or_private_digest(built, tmp_path):
    done = release(built, about(), tmp_path / "out")
    text = b"\n".join(everything(done.folder).values())
    for record in map(json.loads, lines(built / "private/withheld.jsonl")):
        assert json.dumps(record["sentence"], ensure_ascii=False).encode() not in text
    for record in map(json.loads, lines(built / "private/ids.jsonl")):
        assert record["old_id"].encode() not in text
    for path in (built / "private").iterdir():
        assert hashlib.sha256(path.read_bytes()).hexdigest().encode() not in text


def test_judges_have_eligible_votes(built, tmp_path):
    """The recipe of the build excludes people who saw the other half, in the order of the votes."""
    old = {r["id"]: r["old_id"] for r in map(json.loads, lines(built / "private/ids.jsonl"))}
    first, second = next(
        (data[a], data[b])
        for data in [formats.read(built / "train_xl.jsonl")]
        for a, b in data.twins
    )
    votes = [Response(old[first.id], who, "validate", 0) for who in ("x", "y", "z")]
    votes += [Response(old[second.id], who, "validate", 0) for who in ("x", "new")]
    validate.write_votes(votes, tmp_path / "votes.csv")
    done = release(built, about(), tmp_path / "out", votes=tmp_path / "votes.csv")
    judges = {digest_text(p): p.extra.get("release.judges") for p in done.content.dataset}
    assert [judges[digest_text(p)] for p in (first, second)] == [3, 1]


def test_changed_or_unfinished_build_is_refused(built, tmp_path):
    copy = Path(shutil.copytree(built, tmp_path / "copy"))
    (copy / "dev.jsonl").write_text((copy / "dev.jsonl").read_text("utf-8") + "\n", "utf-8")
    with pytest.raises(InputError, match=r"dev\.jsonl was changed after the build"):
        release(copy, about(), tmp_path / "out")
    (copy / "checksums.sha256").unlink()
    with pytest.raises(InputError, match="an unfinished build; run winosmith build again"):
        release(copy, about(), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_build_that_publishes_a_withheld_problem_is_refused(built, tmp_path):
    copy = Path(shutil.copytree(built, tmp_path / "copy"))
    line = json.dumps({**json.loads(lines(copy / "dev.jsonl")[0]), "stage": "x", "reason": "y"})
    with (copy / "private/withheld.jsonl").open("a", encoding="utf-8") as file:
        file.write(line + "\n")
    with pytest.raises(DataError, match=r"released:\ndata/dev\.jsonl:1: .* must be withheld"):
        release(copy, about(), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_withheld_copies_of_dev_are_no_fault(tmp_path):
    """Such a copy reveals nothing that dev doesn't."""
    data = practice.generate_corpus(60, seed=2).dataset
    again = [replace(p, id=f"{p.id}-x", twin_id=f"{p.twin_id}-x") for p in data]
    built = build_pool(tmp_path, [*data, *again])
    withheld = [json.loads(line) for line in lines(built / "private/withheld.jsonl")]
    of_dev = set(formats.read(built / "dev.jsonl").ids)
    assert {record["copy_of"] in of_dev for record in withheld} == {True, False}
    done = release(built, about(), tmp_path / "out")
    assert found(done.folder, private=built / "private") == []


def test_remaining_copy_keeps_its_own_private_answer(tmp_path):
    """The copy with the other answer was withdrawn."""
    data = practice.generate_corpus(60, seed=2).dataset
    liars = [
        replace(p, id=f"{p.id}-x", twin_id=f"{p.twin_id}-x", answer=1 - (p.answer or 0))
        for p in data
    ]
    built = build_pool(tmp_path, [*data, *liars], copies="keep")
    first = release(built, about(), tmp_path / "out")
    known = {
        p.id: p.answer for p in formats.read(first.private_folder / "test.jsonl", as_written=True)
    }
    twice = [one for one in known if f"{one}-2" in known]
    assert twice
    stones = [Tombstone(one, "0.9", "1.0.0") for one in twice]
    left = (p for p in first.content.parts["test"] if p.id not in twice)
    content = replace(with_parts(first.content, test=left), tombstones=stones)
    before = rewritten(content, tmp_path / "before" / "x")
    later = about(version="1.1.0")
    done = release(built, later, tmp_path / "out", previous=before, leave_out=True)
    stay = formats.read(done.private_folder / "test.jsonl", as_written=True)
    assert {p.id: p.answer for p in stay} == {i: a for i, a in known.items() if i not in twice}
