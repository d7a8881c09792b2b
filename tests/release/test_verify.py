"""Verification finds every planted fault and no other; random changes neither crash nor pass."""

import json
import random
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.release.conftest import (
    Plant,
    about,
    found,
    in_line,
    in_record,
    in_text,
    placed,
    rewritten,
    seal,
    sets,
    write_sets,
)
from winosmith import Dataset, Extra, practice
from winosmith.humans import CANARY, make_canary
from winosmith.outputs import sha256
from winosmith.records import dump_json, make_problem_record
from winosmith.release import Content, ReleaseResult, Splitting, parse_about, release, verify
from winosmith.release._content import digest_text
from winosmith.release._source import compute_checksums
from winosmith.release._verify import find_checksum_faults


def _remove(path: str) -> Plant:
    return lambda folder: (folder / path).unlink()


@pytest.mark.parametrize(
    ("plant", "fault"),
    [
        (_remove("PUSH.md"), "PUSH.md: it is missing"),
        (placed("more.md", "more"), "more.md: release.json does not list it; remove it"),
        (in_line("checksums.txt", 2, lambda line: "x"), "checksums.txt: its lines are not"),
        (_remove("checksums.txt"), "checksums.txt: its lines are not"),
        (in_record(lambda r: r["left_out"].update(bad=1)), "release.json: its digest does"),
        (_remove("release.json"), "release.json: it can't be read"),
        (placed("release.json", "[]"), "release.json: this is not a record of a release"),
        (in_record(lambda record: record.pop("canary")), "release.json: canary is missing"),
        (in_record(lambda r: r.update(canary=f"{r['canary']}\nimport os")),
         "release.json: its canary is 'winosmith canary "),
        (in_record(lambda r: r["about"].update(title="\ud800")), "release.json: it can't be read"),
        (in_record(lambda r: r["about"].pop("title")), "release.json: about: the key 'title' is"),
        (in_record(lambda r: r["counts"].update(more={})), "release.json: counts has 'more'"),
        (in_record(lambda r: r.update(counts={"all": {}})), "release.json: counts has no part"),
        (lambda folder: (folder / "link").symlink_to("CANARY"), "link: it is a link"),
        (_remove("data/dev.jsonl"), "data/dev.jsonl: it is missing"),
        (_remove("data/dev.parquet"), "data/dev.parquet: it is missing"),
        (_remove("tombstones.jsonl"), "tombstones.jsonl: it can't be read"),
    ],
)  # fmt: skip
def test_faults_of_folder_and_record_are_found(plant, fault, copied):
    plant(copied)
    faults = found(copied)
    assert any(one.startswith(fault) for one in faults), faults


def test_one_added_byte_contradicts_the_checksums(copied):
    record = json.loads((copied / "release.json").read_text("utf-8"))
    paths = [path for path in sorted(copied.rglob("*")) if path.is_file()]
    assert len(paths) > 20
    for path in paths:
        whole = path.read_bytes()
        path.write_bytes(whole + b" ")
        assert list(find_checksum_faults(copied, record, compute_checksums(copied))), path
        path.write_bytes(whole)
    assert not list(find_checksum_faults(copied, record, compute_checksums(copied)))


def test_renamed_folder_is_the_only_fault(copied):
    address = copied.name
    (fault,) = found(copied.rename(copied.with_name("small-latest")))
    assert f"the folder's name must be {address}" in fault


def test_correct_release_has_no_fault(small, copied):
    whole = verify(small.folder, private=small.private_folder)
    assert (whole.faults, whole.private) == ((), True)
    assert found(seal(copied)) == []


def _private(folder: Path, test: Dataset) -> Path:
    """Write a private folder with every possible file."""
    write_sets(folder, {"test": test})
    (folder / "test-labels.lst").write_text("1\n2\n", "utf-8")
    return folder


def test_withheld_problems_and_old_ids_are_found(small, tmp_path):
    test = sets()["test"]
    private = _private(tmp_path / "private", test)
    dev = small.content.parts["dev"]
    record = {**make_problem_record(dev[2]), "stage": "aflite", "reason": "guessed"}
    (private / "withheld.jsonl").write_text(dump_json(record) + "\n", "utf-8")
    old = {"id": "x", "old_id": dev[5].twin_id}
    (private / "ids.jsonl").write_text(json.dumps(old) + "\n", "utf-8")
    faults = found(small.folder, private=private)
    assert len(faults) == 3
    assert faults[0].startswith("data/dev.jsonl:3: ")
    assert "must be withheld" in faults[0]
    assert all("an id from before the build" in fault for fault in faults[1:])


def test_copy_is_a_fault_if_its_original_is_withheld(small, tmp_path):
    """A copy of a dev problem isn't secret."""
    private = _private(tmp_path / "private", sets()["test"])
    dev = small.content.parts["dev"]
    reason = {"stage": "copies", "reason": "copy: identical to a kept problem"}
    copy = {**make_problem_record(dev[2]), **reason, "id": "copy", "twin_id": None}
    other = {**make_problem_record(dev[4]), **reason, "id": "gone", "twin_id": None}
    other |= {"sentence": f"Then, {other['sentence']}"}
    for of, faults in ((dev[2].id, 0), ("gone", 1)):
        lines = [dump_json({**copy, "copy_of": of}), dump_json(other)]
        (private / "withheld.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
        assert len(found(small.folder, private=private)) == faults


def test_checksum_of_a_private_file_is_found(copied, small):
    """Attackers could compare it with the checksums of all possible answers."""
    digits = sha256(small.private_folder / "test-labels.lst")
    in_text("README.md", "## Uses", f"## Uses {digits}")(copied)
    faults = found(seal(copied), private=small.private_folder)
    assert any(f.startswith("README.md: it contains the SHA-256 of a private file") for f in faults)


def test_checksum_of_an_empty_file_is_no_fault(small, tmp_path):
    """Public files can be empty too."""
    key = Path(shutil.copytree(small.private_folder, tmp_path / "key"))
    (key / "withheld.jsonl").touch()
    assert found(small.folder, private=key) == []


@pytest.mark.parametrize("ids", ["p{}", "{}"])
def test_partner_columns_get_new_ids(ids, tmp_path):
    """A number that happens to equal an old id is no fault."""
    made = practice.generate_corpus(60, seed=5).dataset
    rows = [
        {"id": ids.format(n), "sentence": p.sentence, "option1": p.options[0],
         "option2": p.options[1], "answer": (p.answer or 0) + 1, "domain": "physical",
         "partner": ids.format(n ^ 1), "twin_id": p.twin_id or ""}
        for n, p in enumerate(made)
    ]  # fmt: skip
    (tmp_path / "all.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    by_all = about(source=[{"name": "*", "licence": "CC0-1.0"}])
    split = Splitting(("twin",))
    done = release(tmp_path / "all.jsonl", by_all, tmp_path / "out", splitting=split, new_ids=True)
    assert found(done.folder, private=done.private_folder) == []
    shown = {one for p in done.content.parts["train"] for key, one in p.extra.items()
             if key.endswith("partner")}  # fmt: skip
    assert (shown <= {*done.content.parts["train"].ids}) == (ids == "p{}")


def test_revealing_ids_of_the_test_set_are_found(tmp_path):
    made = practice.generate_corpus(60, seed=5).dataset
    mark = make_canary(made)
    told = Dataset(
        (replace(p, id=f"{n}-{p.answer}", twin_id=None) for n, p in enumerate(made)), "test"
    )
    blind = sorted(told, key=lambda p: (digest_text(p), p.id))
    test = Dataset((replace(p, answer=None, extra=Extra({CANARY: mark})) for p in blind), "test")
    folder = rewritten(Content(about(), {"test": test}, mark), tmp_path / "n/x")
    assert not [fault for fault in found(folder) if "answer" in fault]
    faults = found(folder, private=_private(tmp_path / "private", told))
    assert any("the id's last character gives the answer away" in fault for fault in faults)


def test_about_in_release_json_is_a_round_trip(small):
    record = json.loads((small.folder / "release.json").read_text("utf-8"))
    assert parse_about(record["about"]) == small.content.about


VALUES = (
    "null", "true", "0", "-1", "1e400", "NaN", "9" * 5000, '""', '"x"', '"\\ud800"', "[]", "[[1]]",
    "{}", '{"a":1,"a":2}', "[" * 3000, '{"a":' * 3000, '"//[::1"', '"http://[/"', '"../../x"',
)  # fmt: skip
"""JSON values that once crashed readers."""

PIECES = (
    b"",
    b"\x00",
    b"\xff\xfe",
    b"\r",
    b"\n",
    b'"',
    b"{" * 2000,
    b"a" * 200_000,
    b"\xe2\x80\xa8",
)
"""Bytes that once crashed readers."""

Random = random.Random


def _of_value(raw: bytes, rng: Random) -> bytes:
    text = raw.decode("utf-8", "surrogateescape")
    found = [
        one.span() for one in re.finditer(r'"[^"\n]*"(?!:)|-?\b\d+\b|true|false|null|\[|\{', text)
    ]
    if not found:
        return raw + b"x"
    start, end = rng.choice(found)
    changed = text[:start] + rng.choice(VALUES) + text[end:]
    return changed.encode("utf-8", "surrogateescape")


def _of_key(raw: bytes, rng: Random) -> bytes:
    found = [one.span() for one in re.finditer(rb'"[@\w]+":', raw)]
    if not found:
        return b""
    start, end = rng.choice(found)
    return raw[:start] + rng.choice((b'"odd":', b'"@id":', b'"id":', b'"":')) + raw[end:]


def _of_bytes(raw: bytes, rng: Random) -> bytes:
    start = rng.randrange(len(raw) + 1)
    return raw[:start] + rng.choice(PIECES) + raw[start + rng.choice((0, 1, 40)) :]


def _of_lines(raw: bytes, rng: Random) -> bytes:
    lines = raw.split(b"\n")
    rng.shuffle(lines)
    return b"\n".join(lines[: rng.randrange(len(lines) + 1)])


CHANGES: tuple[Callable[[bytes, Random], bytes], ...] = (
    _of_value, _of_value, _of_value, _of_key, _of_bytes, _of_lines, lambda raw, rng: b"[]",
)  # fmt: skip


def _sealed(folder: Path) -> Path:
    """Update the checksums, unless release.json can't be read."""
    try:
        return seal(folder)
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError, OSError):
        return folder


def _verified(small: ReleaseResult, where: Path, seed: int) -> None:
    """Change one or two files of a release at random, and verify it, also with new checksums."""
    rng = Random(seed)
    folder = Path(shutil.copytree(small.folder, where / small.folder.name))
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    for path in rng.sample(paths, rng.choice((1, 1, 2))):
        whole = path.read_bytes()
        changed = rng.choice(CHANGES)(whole, rng)
        path.write_bytes(changed if changed != whole else whole + b" ")
    assert verify(folder).faults, f"seed {seed}: the change was not found"
    verify(_sealed(folder), private=small.private_folder)


@pytest.mark.parametrize(
    "seeds",
    [
        (*range(30), 1837),
        *(pytest.param(range(n, n + 100), marks=pytest.mark.long) for n in range(30, 2030, 100)),
    ],
    ids=lambda seeds: f"{seeds[0]} to {seeds[-1]}",
)
def test_random_changes_neither_crash_nor_pass(seeds, small, tmp_path):
    """Changed values, keys, bytes and lines contradict the released checksums.

    With updated checksums, verification reads the release to its end.
    """
    for seed in seeds:
        where = tmp_path / str(seed)
        _verified(small, where, seed)
        shutil.rmtree(where)
