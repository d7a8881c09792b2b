"""Singles that look like twins are still singles in every file that a command writes."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.conftest import needed
from tests.release.conftest import about
from winosmith import Dataset, Origin, Response, formats
from winosmith.cli import main
from winosmith.release import release, verify
from winosmith.testing import make_twins
from winosmith.validate import write_votes

SINGLES = Dataset(
    replace(problem, twin_id=None, origin=Origin("practice", author=f"a{row // 4}"))
    for row, problem in enumerate(make_twins(6))
)
"""Pairs of them look like twins, but no two of them are."""


def _write_singles(folder: Path) -> str:
    path = folder / "singles.jsonl"
    formats.write(SINGLES, path)
    assert not formats.read(path).twins
    return str(path)


def _run_check(folder: Path) -> list[Path]:
    told = ["check", _write_singles(folder), "--rules", "none", "--out", str(folder / "out")]
    assert main(told) == 0
    return [folder / "out" / "kept.jsonl"]


def _run_debias(folder: Path) -> list[Path]:
    told = ["debias", _write_singles(folder), "--method", "random", "--keep", "10", "--no-again"]
    assert main([*told, "--out", str(folder / "out")]) == 0
    return [folder / "out" / "kept.jsonl"]


def _run_select(folder: Path) -> list[Path]:
    said = [
        Response(p.id, f"s{who}", "test", p.answer or 0)
        for who in range(8)
        for row, p in enumerate(SINGLES)
        if (row + who) % 2
    ]
    write_votes(said, folder / "said.csv")
    told = ["humans", "select", _write_singles(folder), str(folder / "said.csv"), "--floor", "0.5"]
    assert main([*told, "--out", str(folder / "out")]) == 0
    return [folder / "out" / "chosen.jsonl"]


def _run_publish(folder: Path) -> list[Path]:
    formats.write(SINGLES[:4], folder / "used.jsonl")
    told = ["humans", "publish", _write_singles(folder), str(folder / "used.jsonl")]
    assert main([*told, "--out", str(folder / "out")]) == 0
    return [folder / "out" / "released.jsonl", folder / "out" / "private" / "withheld.jsonl"]


def _write_lines(folder: Path) -> list[Path]:
    path = folder / "small.jsonl"
    path.write_text("".join(formats.to_lines(SINGLES)), "utf-8")
    return [path]


def _run_release(folder: Path) -> list[Path]:
    needed("pyarrow")
    source = folder / "source"
    source.mkdir()
    for part, rows in {"train_xl": slice(4), "dev": slice(4, 8), "test": slice(8, 12)}.items():
        formats.write(SINGLES[rows], source / f"{part}.jsonl")
    made = release(source, about(), folder / "out", new_ids=True)
    assert not verify(made.folder).faults
    key = folder / "out" / "private" / made.folder.name
    return [*sorted((made.folder / "data").glob("*.jsonl")), key / "test.jsonl"]


@pytest.mark.parametrize(
    "write", [_run_check, _run_debias, _run_select, _run_publish, _write_lines, _run_release]
)
def test_written_singles_are_not_read_as_twins(write, tmp_path):
    for path in write(tmp_path):
        read = formats.read(path)
        assert formats.find_unmarked_pairs(read.problems), path.name
        assert not read.twins, path.name
