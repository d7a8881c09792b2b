"""`winosmith humans select` and `publish`: the reliable subset, and the released problems."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import Cli
from winosmith import Response, formats
from winosmith.cli import main
from winosmith.testing import make_twins
from winosmith.validate import write_votes

DATA = make_twins(12)


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """Return the paths of twelve twins and of eight people's answers, 85 % of them intended."""
    data, said = tmp_path / "schemas.jsonl", tmp_path / "answers.csv"
    formats.write(DATA.problems, data)
    rng = np.random.default_rng(1)
    likely = rng.beta(17, 3, len(DATA))
    write_votes(
        [
            Response(p.id, f"s{who}", "test", _choice(p.answer or 0, rng.random() < likely[row]))
            for who in range(8)
            for row, p in enumerate(DATA)
            if (row + who) % 2
        ],
        said,
    )
    return str(data), str(said)


def _choice(answer: int, right: bool) -> int:
    return answer if right else 1 - answer


def test_selection_is_reported_with_both_agreements(files: tuple[str, str], cli: Cli) -> None:
    """The agreement on the chosen problems is optimistic; cross-validation gives the other one."""
    told = cli("humans", "select", *files, "--floor", "0.7")
    assert "of 24 problems are chosen" in told
    assert "the other half is chosen" in told
    assert "optimistic" in told
    assert "folds)" in told
    assert "floor:0.7" in told
    assert max(map(len, told.splitlines()[:-1])) <= 80


def test_chosen_and_omitted_problems_are_written(files: tuple[str, str], tmp_path: Path) -> None:
    out = str(tmp_path / "reliable")
    assert main(["humans", "select", *files, "--out", out]) == 0
    chosen = formats.read(Path(out) / "chosen.jsonl")
    others = [json.loads(line) for line in (Path(out) / "left-out.jsonl").read_text().splitlines()]
    assert sorted([*chosen.ids, *(one["id"] for one in others)]) == sorted(DATA.ids)
    assert all(one["reason"] for one in others)
    assert main(["humans", "select", *files, "--out", out]) == 0
    assert main(["humans", "select", *files, "--out", out, "--floor", "0.5"]) == 2
    assert main(["humans", "select", *files, "--out", out, "--floor", "0.5", "--force"]) == 0


def test_used_problems_are_published_with_their_other_halves(
    files: tuple[str, str], tmp_path: Path, cli: Cli
) -> None:
    used, out = tmp_path / "used.jsonl", tmp_path / "after"
    formats.write([DATA[0], DATA[4]], used)
    assert "4 problems are released (2 used, 2 alternates); 20 stay" in cli(
        "humans", "publish", files[0], used, "--out", out
    )
    released = formats.read(out / "released.jsonl")
    withheld = formats.read(out / "private/withheld.jsonl")
    assert len(released) == 4
    assert not any(p.embargo for p in released)
    assert all(p.embargo for p in withheld)
    canary = str(released[0].extra["winosmith.canary"])
    assert canary in (out / "README.md").read_text()
    assert cli.told("humans", "publish", files[0], used, "--out", out)["canary"] == canary
