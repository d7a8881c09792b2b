"""Predictions written to a file: complete files, resuming, and refused files."""

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from winosmith import Problem, answers, solve
from winosmith.errors import DataError, OutputError
from winosmith.testing import make_twins

PROBLEMS = make_twins(300)
"""600 problems: two full chunks of 256, and a partial one."""


@dataclass
class Stops:
    """A solver that is interrupted at its third chunk and records the sizes of its chunks."""

    parameters: dict[str, object] = field(default_factory=lambda: dict(solve.Random(4).parameters))
    chunks: list[int] = field(default_factory=list)

    def score(self, problems: Sequence[Problem]) -> solve.Scores:
        """Return random scores, but raise at the third call."""
        self.chunks.append(len(problems))
        if len(self.chunks) == 3:
            raise KeyboardInterrupt
        return solve.Random(4).score(problems)


def test_other_results_are_overwritten_only_with_force(tmp_path):
    """Whether the file is unfinished or complete."""
    out = tmp_path / "p.jsonl"
    with pytest.raises(KeyboardInterrupt):
        solve.predict_to_file(Stops(), PROBLEMS, out)
    with pytest.raises(OutputError, match=r"seed is 4, not 5\): it is unfinished work"):
        solve.predict_to_file(solve.Random(5), PROBLEMS, out)
    found = solve.predict_to_file(solve.Random(5), PROBLEMS, out, force=True)
    assert found.predictions == solve.predict(solve.Random(5), PROBLEMS)
    with pytest.raises(OutputError, match=r"contains other predictions \(seed is 5, not 4\)"):
        solve.predict_to_file(solve.Random(4), PROBLEMS, out)
    with pytest.raises(OutputError, match=r"the data's digest is '.{12}', not '.{12}';"):
        solve.predict_to_file(solve.Random(5), PROBLEMS[:10], out)
    with pytest.raises(OutputError, match="solver is 'random', not 'majority'; seed is 5"):
        solve.predict_to_file(solve.Majority((0.5, 0.5)), PROBLEMS, out)
    found = solve.predict_to_file(solve.Random(4), PROBLEMS, out, force=True)
    assert found.predictions == solve.predict(solve.Random(4), PROBLEMS)


def test_file_has_the_predictions_and_parameters(tmp_path):
    """It equals that of `write_predictions`."""
    out = tmp_path / "p.jsonl"
    seen: list[int] = []
    given = {"parameters": {"train": "abc"}, "on_progress": seen.append}
    found = solve.predict_to_file(solve.Random(4), PROBLEMS, out, **given)
    parameters = {"seed": 4, "sees": "blank", "train": "abc"}
    assert found.predictions == solve.predict(solve.Random(4), PROBLEMS)
    assert (found.solver, found.parameters) == ("random", parameters)
    assert answers.read_predictions(out, PROBLEMS) == found
    assert seen == [0, 256, 512, 600]
    assert [path.name for path in tmp_path.iterdir()] == ["p.jsonl"]
    told = {"solver": "random", "parameters": parameters}
    answers.write_predictions(found.predictions, tmp_path / "q.jsonl", PROBLEMS, **told)
    assert out.read_bytes() == (tmp_path / "q.jsonl").read_bytes()
    empty = solve.predict_to_file(solve.Random(), PROBLEMS[:0], tmp_path / "empty.jsonl")
    assert empty.predictions == ()
    assert len((tmp_path / "empty.jsonl").read_text("utf-8").splitlines()) == 1


@pytest.mark.parametrize("cut", [0, 10, 3000])
def test_interrupted_work_resumes(tmp_path, cut):
    """If the end of the file is missing, only the incomplete chunk is solved again."""
    out, whole = tmp_path / "p.jsonl", tmp_path / "whole.jsonl"
    solve.predict_to_file(solve.Random(4), PROBLEMS, whole)
    solver = Stops()
    with pytest.raises(KeyboardInterrupt):
        solve.predict_to_file(solver, PROBLEMS, out)
    assert not out.exists()
    part = tmp_path / ".p.jsonl.part"
    part.write_bytes(part.read_bytes()[: -cut or None])
    solver.chunks = [0] * 5
    solve.predict_to_file(solver, PROBLEMS, out)
    assert solver.chunks[5:] == ([256, 88] if cut else [88])
    assert out.read_bytes() == whole.read_bytes()
    assert not part.exists()


def test_complete_file_is_read_without_solving(tmp_path):
    out = tmp_path / "p.jsonl"
    first = solve.predict_to_file(solve.Random(4), PROBLEMS, out)
    solver = Stops(chunks=[0, 0])
    assert solve.predict_to_file(solver, PROBLEMS, out) == first
    assert solver.chunks == [0, 0]


def test_other_files_and_folders_are_not_overwritten(tmp_path):
    out = tmp_path / "p.jsonl"
    for content in (b"precious", b"\xff\xfe", b"[]", b'{"a": 1}', b""):
        out.write_bytes(content)
        with pytest.raises(OutputError, match="written by winosmith solve; choose another file"):
            solve.predict_to_file(solve.Random(), PROBLEMS, out)
        assert out.read_bytes() == content
    with pytest.raises(OutputError, match="is not a file; choose another path"):
        solve.predict_to_file(solve.Random(), PROBLEMS, tmp_path)
    with pytest.raises(OutputError, match="a file has the same name as its folder"):
        solve.predict_to_file(solve.Random(), PROBLEMS, out / "p.jsonl")


@pytest.mark.skipif(sys.platform == "win32", reason="files are locked on POSIX alone")
def test_second_process_for_the_same_file_is_refused(tmp_path):
    code = (
        "import sys\n"
        "from winosmith import solve\n"
        "from winosmith.testing import make_twins\n"
        "class Waits:\n"
        "    parameters = {'solver': 'random', 'seed': 4, 'sees': 'blank'}\n"
        "    def score(self, problems):\n"
        "        print('solving', flush=True)\n"
        "        sys.stdin.readline()\n"
        "        return solve.Random(4).score(problems)\n"
        "solve.predict_to_file(Waits(), make_twins(3), sys.argv[1])\n"
    )
    out = tmp_path / "p.jsonl"
    with subprocess.Popen(
        [sys.executable, "-c", code, str(out)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "solving\n"
        with pytest.raises(OutputError, match="another process is writing this file"):
            solve.predict_to_file(solve.Random(4), make_twins(3), out)
        other.communicate("\n")
    assert other.returncode == 0
    assert len(solve.predict_to_file(solve.Random(4), make_twins(3), out).predictions) == 6


def test_finished_chunks_survive_a_failing_solver(tmp_path):
    class Fails(Stops):
        def score(self, problems: Sequence[Problem]) -> solve.Scores:
            scores = list(solve.Random(4).score(problems))
            if problems[0].id != PROBLEMS[0].id:
                scores[0] = (float("nan"), 0.0)
            return scores

    with pytest.raises(DataError, match=f"returned the scores .* for '{PROBLEMS[256].id}'"):
        solve.predict_to_file(Fails(), PROBLEMS, tmp_path / "p.jsonl")
    assert len((tmp_path / ".p.jsonl.part").read_text("utf-8").splitlines()) == 257
