"""WinoGrande's own files, labels and submissions."""

import json

import pytest

from winosmith import answers, formats
from winosmith.errors import FormatError


def test_crowd_task_is_a_twin(data_dir):
    dev = formats.read(data_dir / "winogrande/dev.jsonl")
    assert dev[0].id == f"{dev[0].twin_id}-2"
    assert len(str(dev[0].twin_id)) == 30
    for first, second in dev.twins:
        assert dev[first].answer != dev[second].answer


@pytest.mark.parametrize("size", ["xs", "s", "m", "l", "xl", "debiased"])
def test_labels_match_the_answers(data_dir, size):
    labels = answers.read_labels(data_dir / f"winogrande/train_{size}-labels.lst")
    assert labels == formats.read(data_dir / f"winogrande/train_{size}.jsonl").answers


def test_labels_round_trip_byte_for_byte(data_dir, tmp_path):
    path = data_dir / "winogrande/dev-labels.lst"
    with (tmp_path / "labels.lst").open("w") as file:
        answers.write_labels(answers.read_labels(path), file)
    assert (tmp_path / "labels.lst").read_bytes() == path.read_bytes()


@pytest.mark.parametrize("part", ["dev", "test", "train_xs", "train_debiased"])
def test_files_round_trip_byte_for_byte(data_dir, tmp_path, part):
    path = data_dir / f"winogrande/{part}.jsonl"
    formats.write(formats.read_items(path), tmp_path / "again", "winogrande")
    assert (tmp_path / "again").read_bytes() == path.read_bytes()


def test_submission_has_a_column_for_each_training_size(data_dir):
    """Labels in the file count from 1; in Python, from 0."""
    path = data_dir / "winogrande/sample-submission-labels.lst"
    columns = answers.read_submission(path)
    assert [(size, len(labels)) for size, labels in columns.items()] == [
        (size, 1767) for size in ("xs", "s", "m", "l", "xl")
    ]
    second = path.read_text().splitlines()[1].split(",")
    assert [str(labels[1] + 1) for labels in columns.values()] == second


def test_invalid_labels_are_refused_with_their_line(tmp_path):
    (tmp_path / "labels.lst").write_text("1\n2\n3\n")
    with pytest.raises(FormatError, match=r"labels\.lst:3: '3' is not one label \(1 or 2\)"):
        answers.read_labels(tmp_path / "labels.lst")
    with pytest.raises(FormatError, match=r":1: '1' is not 5 comma-separated labels"):
        answers.read_submission(tmp_path / "labels.lst")


def test_additional_keys_round_trip(tmp_path):
    record = {"qID": "A-1", "sentence": "A _ b.", "option1": "x", "option2": "y", "split": 3}
    (tmp_path / "in.jsonl").write_text(json.dumps(record) + "\n")
    problems = formats.read_items(tmp_path / "in.jsonl")
    formats.write(problems, tmp_path / "out.jsonl", "winogrande")
    assert json.loads((tmp_path / "out.jsonl").read_text()) == record


def test_repeated_id_is_refused_with_the_line_of_the_first(tmp_path):
    line = '{"qID": "A-1", "sentence": "A _ b.", "option1": "x", "option2": "y"}\n'
    (tmp_path / "in.jsonl").write_text(line + line)
    with pytest.raises(FormatError, match=r":2: the id 'A-1' was already used at line 1"):
        formats.read(tmp_path / "in.jsonl")


def test_format_is_recognised_despite_a_malformed_first_line(tmp_path):
    line = '{"qID": "A-1", "sentence": "A _ b.", "option1": "x", "option2": "y"}\n'
    (tmp_path / "in.jsonl").write_text('{"qID": "A-2", "sen\n' + line)
    contents = formats.scan(tmp_path / "in.jsonl")
    assert (contents.format.name, len(contents.items), len(contents.bad)) == ("winogrande", 1, 1)
