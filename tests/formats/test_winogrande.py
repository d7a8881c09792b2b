"""WinoGrande's own files, labels and submissions."""

import json
from pathlib import Path

import pytest

from winosmith import answers, formats
from winosmith.errors import FormatError


def test_a_task_is_a_twin(data_dir: Path) -> None:
    """The crowd task's id is the twin's, and the qID stays the problem's."""
    dev = formats.read(data_dir / "winogrande/dev.jsonl")
    assert dev[0].id == f"{dev[0].twin_id}-2"
    assert len(str(dev[0].twin_id)) == 30
    for first, second in dev.twins:
        assert dev[first].answer != dev[second].answer


@pytest.mark.parametrize("size", ["xs", "s", "m", "l", "xl", "debiased"])
def test_labels_are_the_answers(data_dir: Path, size: str) -> None:
    """The labels file of each size agrees with the answers in the problems."""
    labels = answers.read_labels(data_dir / f"winogrande/train_{size}-labels.lst")
    assert labels == formats.read(data_dir / f"winogrande/train_{size}.jsonl").answers


def test_labels_are_written_as_published(data_dir: Path, tmp_path: Path) -> None:
    """A labels file comes back byte for byte."""
    path = data_dir / "winogrande/dev-labels.lst"
    with (tmp_path / "labels.lst").open("w") as file:
        answers.write_labels(answers.read_labels(path), file)
    assert (tmp_path / "labels.lst").read_bytes() == path.read_bytes()


@pytest.mark.parametrize("part", ["dev", "test", "train_xs", "train_debiased"])
def test_a_file_is_written_byte_for_byte(data_dir: Path, tmp_path: Path, part: str) -> None:
    """WinoGrande's files are written as they were, with their escapes."""
    path = data_dir / f"winogrande/{part}.jsonl"
    formats.write(formats.read_items(path), tmp_path / "again", "winogrande")
    assert (tmp_path / "again").read_bytes() == path.read_bytes()


def test_a_submission_has_a_column_for_each_size(data_dir: Path) -> None:
    """The sample submission has 1,767 labels in each of five columns, 0-based here."""
    path = data_dir / "winogrande/sample-submission-labels.lst"
    columns = answers.read_submission(path)
    assert [(size, len(labels)) for size, labels in columns.items()] == [
        (size, 1767) for size in ("xs", "s", "m", "l", "xl")
    ]
    second = path.read_text().splitlines()[1].split(",")
    assert [str(labels[1] + 1) for labels in columns.values()] == second


def test_bad_labels_are_named(tmp_path: Path) -> None:
    """A label other than 1 and 2, or a wrong number of columns, is told with its line."""
    (tmp_path / "labels.lst").write_text("1\n2\n3\n")
    with pytest.raises(FormatError, match=r"labels\.lst:3: '3' is not one label \(1 or 2\)"):
        answers.read_labels(tmp_path / "labels.lst")
    with pytest.raises(FormatError, match=r":1: '1' is not 5 comma-separated labels"):
        answers.read_submission(tmp_path / "labels.lst")


def test_further_keys_are_kept(tmp_path: Path) -> None:
    """What a record holds beside the five keys goes to `extra`, and back."""
    record = {"qID": "A-1", "sentence": "A _ b.", "option1": "x", "option2": "y", "split": 3}
    (tmp_path / "in.jsonl").write_text(json.dumps(record) + "\n")
    problems = formats.read_items(tmp_path / "in.jsonl")
    formats.write(problems, tmp_path / "out.jsonl", "winogrande")
    assert json.loads((tmp_path / "out.jsonl").read_text()) == record


def test_an_id_used_twice_is_named(tmp_path: Path) -> None:
    """The second problem with an id is a bad record, told with the line of the first."""
    line = '{"qID": "A-1", "sentence": "A _ b.", "option1": "x", "option2": "y"}\n'
    (tmp_path / "in.jsonl").write_text(line + line)
    with pytest.raises(FormatError, match=r":2: the id 'A-1' was already used at line 1"):
        formats.read(tmp_path / "in.jsonl")


def test_a_bad_first_line_does_not_hide_the_format(tmp_path: Path) -> None:
    """A file whose first line is broken is still recognised by the next one."""
    line = '{"qID": "A-1", "sentence": "A _ b.", "option1": "x", "option2": "y"}\n'
    (tmp_path / "in.jsonl").write_text('{"qID": "A-2", "sen\n' + line)
    contents = formats.scan(tmp_path / "in.jsonl")
    assert (contents.format.name, len(contents.items), len(contents.bad)) == ("winogrande", 1, 1)
