"""Functions that write problems for others omit those under embargo."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from winosmith import Dataset, Problem, formats
from winosmith.cli import main
from winosmith.errors import DataError, FormatError
from winosmith.release import write_inspect_task, write_lm_eval_task
from winosmith.testing import make_twins

WRITABLE = [known.name for known in formats.FORMATS if known.writer]
MADE = make_twins(10)
PRONOUN = "it"
HIDDEN = {MADE[row].twin_id for row in range(0, len(MADE), 3)}
MARKED = [replace(problem, embargo=problem.twin_id in HIDDEN) for problem in MADE]
MIXED = Dataset(MARKED, "materials")
COPIES = [
    replace(one, id=f"copy-{one.id}", twin_id=None, options=one.options[::-1], answer=None)
    for one in MADE
]
"""Copies of all problems, without a mark of the embargo."""
SECRET = [problem.sentence for problem in MIXED if problem.embargo]


def read_all_text(folder: Path) -> str:
    """Return the text of all files below a folder."""
    return "\n".join(
        path.read_text("utf-8", "replace") for path in folder.rglob("*") if path.is_file()
    )


def find_published_secrets(folder: Path) -> list[str]:
    """Return the sentences under embargo that a folder contains."""
    text = read_all_text(folder)
    return [one for one in SECRET if one in text or one.replace("_", PRONOUN) in text]


@pytest.mark.parametrize("name", WRITABLE)
def test_format_keeps_the_embargo_mark_or_refuses_the_problem(name, tmp_path):
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
def test_convert_omits_and_counts_embargoed_problems(name, tmp_path, capsys):
    """Their copies without the mark are omitted, too."""
    source, out = tmp_path / "source.jsonl", tmp_path / "out"
    more: dict[str, Any] = {"questions": {"blank": None}, "superglue-wsc": {"pronoun": PRONOUN}}
    formats.write([replace(one, **more.get(name, {})) for one in (*MARKED, *COPIES)], source)
    out.mkdir()
    skip = ["--skip-bad", str(tmp_path / "left.jsonl")]
    recast = ["--recast", "claims"] if name == "superglue-wsc" else []
    assert main(["convert", str(source), str(out / "file"), "--to", name, *recast, *skip]) == 0
    assert f"omitted: {2 * len(SECRET)} under embargo" in capsys.readouterr().err
    public = next(problem.sentence for problem in MIXED if not problem.embargo)
    assert public in read_all_text(out) or public.replace("_", PRONOUN) in read_all_text(out)
    assert find_published_secrets(out) == []
    left = tmp_path / "left.jsonl"
    assert not left.exists() or not [s for s in SECRET if s in left.read_text("utf-8")]


def test_convert_with_embargo_keeps_embargoed_problems(tmp_path):
    """A format that would lose the embargo is refused."""
    source, out = tmp_path / "source.jsonl", tmp_path / "out.csv"
    formats.write(MIXED.problems, source)
    assert main(["convert", str(source), str(out), "--with-embargo"]) == 0
    assert [p.embargo for p in formats.read(out)] == [p.embargo for p in MIXED]
    lossy = ["convert", str(source), str(tmp_path / "out"), "--to", "winogrande", "--with-embargo"]
    assert main(lossy) == 2
    claims = ["--to", "superglue-wsc", "--recast", "claims", "--with-embargo"]
    assert main(["convert", str(source), str(tmp_path / "c"), *claims]) == 2


@pytest.mark.parametrize("export", [write_lm_eval_task, write_inspect_task])
def test_harness_task_with_embargoed_problems_is_refused(export, tmp_path):
    with pytest.raises(DataError, match="are under embargo"):
        export(MIXED, tmp_path / "task")
    assert not (tmp_path / "task").exists()


@pytest.mark.parametrize("harness", ["lm-eval", "inspect-ai"])
def test_convert_to_a_harness_omits_embargoed_problems_and_copies(harness, tmp_path):
    source, out = tmp_path / "source.jsonl", tmp_path / "task"
    formats.write([*MARKED, *(replace(one, answer=0) for one in COPIES)], source)
    assert main(["convert", str(source), str(out), "--to", harness]) == 0
    before = [sentence.split("_")[0] for sentence in SECRET]
    text = read_all_text(out)
    public = {p.sentence.split("_")[0] for p in MIXED if not p.embargo}
    assert not [start for start in before if start in text and start not in public]
    assert find_published_secrets(out) == []
