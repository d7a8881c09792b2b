"""Whatever writes problems for others to read keeps those under embargo to itself."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from winosmith import Dataset, Problem, formats
from winosmith.cli import main
from winosmith.errors import DataError, FormatError
from winosmith.release import write_inspect_task, write_lm_eval_task
from winosmith.testing import make_twins

WRITABLE = [known.name for known in formats.FORMATS if known.writer]
MADE = make_twins(10)
HIDDEN = {MADE[row].twin_id for row in range(0, len(MADE), 3)}
MARKED = [replace(problem, embargo=problem.twin_id in HIDDEN) for problem in MADE]
MIXED = Dataset(MARKED, "materials")
COPIES = [
    replace(one, id=f"copy-{one.id}", twin_id=None, options=one.options[::-1], answer=None)
    for one in MADE
]
"""Copies of all problems, without a mark of the embargo."""
SECRET = [problem.sentence for problem in MIXED if problem.embargo]


def everything(folder: Path) -> str:
    """Return all text below a folder as one."""
    return "\n".join(
        path.read_text("utf-8", "replace") for path in folder.rglob("*") if path.is_file()
    )


def seen(folder: Path) -> list[str]:
    """Return the secret sentences that a folder gives away."""
    text = everything(folder)
    return [sentence for sentence in SECRET if sentence in text]


@pytest.mark.parametrize("name", WRITABLE)
def test_a_format_keeps_the_mark_or_refuses(name: str, tmp_path: Path) -> None:
    """A format either keeps the mark of the embargo or writes no problem that has it."""
    path = tmp_path / "file"
    try:
        formats.write([problem for problem in MIXED if problem.embargo], path, name)
    except FormatError:
        assert not path.exists()
    else:
        back = [item for item in formats.read_items(path, name) if isinstance(item, Problem)]
        assert back
        assert all(problem.embargo for problem in back)


@pytest.mark.parametrize("name", WRITABLE)
def test_convert_leaves_them_out(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`winosmith convert` writes none of them in any format, nor their copies, and counts them."""
    source, out = tmp_path / "source.jsonl", tmp_path / "out"
    formats.write([*MARKED, *COPIES], source)
    out.mkdir()
    skip = ["--skip-bad", str(tmp_path / "left.jsonl")]
    recast = ["--recast", "claims"] if name == "superglue-wsc" else []
    code = main(["convert", str(source), str(out / "file"), "--to", name, *recast, *skip])
    told = capsys.readouterr().err
    if code == 0:
        assert f"omitted: {2 * len(SECRET)} under embargo" in told
        assert (out / "file").stat().st_size
    assert seen(out) == []
    left = tmp_path / "left.jsonl"
    assert not left.exists() or not [s for s in SECRET if s in left.read_text("utf-8")]


def test_convert_keeps_them_when_asked(tmp_path: Path) -> None:
    """With --with-embargo they are kept, with their mark; a format that loses it refuses."""
    source, out = tmp_path / "source.jsonl", tmp_path / "out.csv"
    formats.write(MIXED.problems, source)
    assert main(["convert", str(source), str(out), "--with-embargo"]) == 0
    assert [p.embargo for p in formats.read(out)] == [p.embargo for p in MIXED]
    lossy = ["convert", str(source), str(tmp_path / "out"), "--to", "winogrande", "--with-embargo"]
    assert main(lossy) == 2
    claims = ["--to", "superglue-wsc", "--recast", "claims", "--with-embargo"]
    assert main(["convert", str(source), str(tmp_path / "c"), *claims]) == 2


@pytest.mark.parametrize("export", [write_lm_eval_task, write_inspect_task])
def test_a_task_for_a_harness_refuses_them(export: Callable[..., object], tmp_path: Path) -> None:
    """A data set with problems under embargo is no task for a harness."""
    with pytest.raises(DataError, match="are under embargo"):
        export(MIXED, tmp_path / "task")
    assert not (tmp_path / "task").exists()


@pytest.mark.parametrize("harness", ["lm-eval", "inspect-ai"])
def test_convert_to_a_harness_leaves_them_out(harness: str, tmp_path: Path) -> None:
    """`winosmith convert --to` a harness writes the others alone."""
    source, out = tmp_path / "source.jsonl", tmp_path / "task"
    formats.write([*MARKED, *(replace(one, answer=0) for one in COPIES)], source)
    assert main(["convert", str(source), str(out), "--to", harness]) == 0
    before = [sentence.split("_")[0] for sentence in SECRET]
    text = everything(out)
    public = {p.sentence.split("_")[0] for p in MIXED if not p.embargo}
    assert not [start for start in before if start in text and start not in public]
    assert seen(out) == []
