"""Prediction files: round trips and refused files."""

import json
import warnings
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from winosmith import Dataset, Problem, answers
from winosmith.errors import DataError, FormatError, OutputError
from winosmith.prediction import Prediction
from winosmith.testing import make_twins

PROBLEMS = make_twins(5)


def predictions(dataset: Dataset = PROBLEMS) -> tuple[Prediction, ...]:
    """Predict the first option for all problems."""
    return tuple(Prediction(problem.id, 0, (0.25, -1.5)) for problem in dataset)


def written(path: Path) -> Path:
    """Write predictions to a file in that folder and return its path."""
    file = path / "p.jsonl"
    answers.write_predictions(
        predictions(), file, PROBLEMS, solver="mine", parameters={"seed": 3, "of": ["a", None]}
    )
    return file


def test_prediction_file_round_trip(tmp_path):
    """Predictions, solver, parameters and the data's digest are a round trip."""
    found = answers.read_predictions(written(tmp_path))
    assert found.predictions == predictions()
    assert found.solver == "mine"
    assert found.parameters == {"seed": 3, "of": ["a", None]}
    assert found.data == PROBLEMS.blind().digest


@given(
    st.lists(
        st.tuples(
            st.text(min_size=1).filter(str.strip),
            st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=5),
        ),
        unique_by=lambda made: made[0],
    )
)
def test_any_id_and_finite_score_is_a_round_trip(tmp_path_factory, made):
    file = tmp_path_factory.mktemp("any") / "p.jsonl"
    dataset = Dataset(
        Problem(name, "A _ b.", tuple(map(str, range(len(scores))))) for name, scores in made
    )
    given_ = [Prediction(name, len(scores) - 1, tuple(scores)) for name, scores in made]
    answers.write_predictions(given_, file, dataset, solver="any")
    assert answers.read_predictions(file, dataset).predictions == tuple(given_)


def test_ties_and_invalid_answers_are_a_round_trip(tmp_path):
    made = [
        Prediction(p.id, 0, (0.5, 0.5) if n % 2 else (), (0, 1)) for n, p in enumerate(PROBLEMS)
    ]
    made[3] = Prediction(PROBLEMS[3].id, None)
    answers.write_predictions(made, tmp_path / "p.jsonl", PROBLEMS, solver="mine")
    text = (tmp_path / "p.jsonl").read_text("utf-8")
    assert (text.count('"tied":[0,1]}'), text.count('"choice":null}')) == (9, 1)
    assert answers.read_predictions(tmp_path / "p.jsonl", PROBLEMS).predictions == tuple(made)


def test_tie_with_a_nonexistent_option_is_refused(tmp_path):
    lines = [f'{{"id":"{p.id}","choice":0,"tied":[0,2]}}' for p in PROBLEMS]
    (tmp_path / "p.jsonl").write_text("\n".join(lines), "utf-8")
    with pytest.raises(DataError, match=r"the choice 2 of '0-0' is not one of 2 options"):
        answers.read_predictions(tmp_path / "p.jsonl", PROBLEMS)


def test_predictions_are_returned_in_the_order_of_problems(tmp_path):
    file = tmp_path / "p.jsonl"
    answers.write_predictions(predictions()[::-1], file, PROBLEMS, solver="mine")
    header, *lines = file.read_text("utf-8").splitlines()
    file.write_text("\n".join([header, *lines[::-1]]) + "\n", "utf-8")
    assert answers.read_predictions(file, PROBLEMS).predictions == predictions()


def test_files_do_not_depend_on_the_answers_of_problems(tmp_path):
    one, other = tmp_path / "1.jsonl", tmp_path / "2.jsonl"
    answers.write_predictions(predictions(), one, PROBLEMS, solver="mine")
    answers.write_predictions(predictions(), other, PROBLEMS.blind(), solver="mine")
    assert one.read_bytes() == other.read_bytes()


def test_file_without_a_header_is_read(tmp_path):
    file = tmp_path / "theirs.jsonl"
    file.write_text("".join(f'{{"id": "{p.id}", "choice": 1}}\n' for p in PROBLEMS), "utf-8")
    found = answers.read_predictions(file, PROBLEMS)
    assert [p.choice for p in found.predictions] == [1] * 10
    assert (found.solver, found.data) == ("theirs", None)


LINE = '{"id":"0-0","choice":0}'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{nonsense\n", ":1: the line is not JSON"),
        (f"{LINE}\n[1]\n", r":2: this is not a JSON object: '\[1\]'"),
        (f"{LINE}\n{LINE}\n", ":2: the id '0-0' already has a prediction"),
        ('{"id":"0-0"}\n', ":1: the prediction has no 'choice'"),
        ('{"choice":1}\n', ":1: the prediction has no 'id'"),
        (
            '{"id":"0-0","choice":true}\n',
            "'choice' can't have True: Input should be a valid number",
        ),
        (
            '{"id":"0-0","choice":"1"}\n',
            "'choice' can't have '1': Input should be a valid number",
        ),
        (
            '{"id":"0-0","choice":-1}\n',
            ":1: the prediction's 'choice' can't have -1: .* greater than or equal to 0",
        ),
        ('{"id":"0-0","choice":2,"scores":[1,2]}\n', "the choice 2 is not one of 2 options"),
        (
            '{"id":"0-0","choice":0,"scores":[1,null]}\n',
            "'scores' can't have None: .* valid number",
        ),
        ('{"id":"0-0","choice":0,"scores":[1,NaN]}\n', "NaN is not a JSON number; write null"),
        ('{"id":"0-0","choice":0,"scores":[1,1e999]}\n', "the number 1e999 is too large"),
        ('{"id":"0-0","choice":0,"score":[1]}\n', "unknown key 'score'"),
        (
            '{"id":"0-0","choice":0,"tied":true}\n',
            ":1: the prediction's 'tied' can't have True: Input should be a valid list",
        ),
        (
            '{"id":"0-0","choice":0,"tied":[0,1.0]}\n',
            "'tied' can't have 1.0: Input should be a valid integer",
        ),
        ('{"id":"0-0","choice":0,"tied":[1,2]}\n', ":1: the tied options of '0-0' must be two or"),
        ('{"id":true,"choice":0}\n', "'id' can't have True: Input should be a valid string"),
        ('{"predictions":"m","n":"9"}\n', ":1: the header's 'n' can't have '9'"),
        ("\n", "the file is empty"),
    ],
)
def test_invalid_lines_are_reported_with_their_place(tmp_path, text, message):
    (tmp_path / "bad").write_text(text, "utf-8")
    with pytest.raises(FormatError, match=message):
        answers.read_predictions(tmp_path / "bad")


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (PROBLEMS.ids[4:], r"4 of 10 problems have no prediction \('0-0', '0-1', '1-0', …\)"),
        ((*PROBLEMS.ids, "x", "y"), r"2 predictions with an unknown id \('x', 'y'\)$"),
    ],
)
def test_missing_and_extra_predictions_are_refused(tmp_path, ids, message):
    file = tmp_path / "p.jsonl"
    file.write_text("".join(json.dumps({"id": i, "choice": 0}) + "\n" for i in ids), "utf-8")
    with pytest.raises(DataError, match=message):
        answers.read_predictions(file, PROBLEMS)


def test_truncated_file_is_refused(tmp_path):
    file = written(tmp_path)
    file.write_text("\n".join(file.read_text("utf-8").splitlines()[:-3]) + "\n", "utf-8")
    with pytest.raises(FormatError, match="announces 10 predictions, but 7 follow"):
        answers.read_predictions(file, PROBLEMS)


def test_refused_predictions_leave_no_file(tmp_path):
    with pytest.raises(DataError, match="1 of 10 problems have no prediction"):
        answers.write_predictions(predictions()[1:], tmp_path / "p", PROBLEMS, solver="mine")
    (tmp_path / "no").touch()
    with pytest.raises(OutputError, match="a file has the same name as its folder"):
        answers.write_predictions(predictions(), tmp_path / "no" / "p", PROBLEMS, solver="mine")
    assert list(tmp_path.iterdir()) == [tmp_path / "no"]


def test_choice_may_be_a_whole_float(tmp_path):
    """In a column of whole numbers with gaps, pandas writes 1.0."""
    path = tmp_path / "m.jsonl"
    path.write_text('{"id":"0","choice":1.0}\n{"id":"1","choice":null}\n', "utf-8")
    found = answers.read_predictions(path).predictions
    assert [one.choice for one in found] == [1, None]
    assert isinstance(found[0].choice, int)


@pytest.mark.parametrize("choices", [[1, 2, 1], [1, 0, 2]])
def test_choices_without_0_are_noted(choices, tmp_path):
    """They may count from 1, even if the last number does not occur either."""
    items = Dataset(Problem(f"q{at}", "Why?", tuple("abcd"), 0, blank=None) for at in range(3))
    path, note = tmp_path / "m.jsonl", "no 'choice' is 0, although they are read as counted from 0"
    records = [{"id": one.id, "choice": at} for one, at in zip(items, choices, strict=True)]
    path.write_text("\n".join(map(json.dumps, records)), "utf-8")
    with warnings.catch_warnings(record=True) as issued:
        warnings.simplefilter("always")
        assert [one.choice for one in answers.read(path, items)["m"].predictions] == choices
    assert any(note in str(one.message) for one in issued) == (0 not in choices)


def test_choices_that_count_from_1_are_refused(tmp_path):
    items = make_twins(2)
    lines = [json.dumps({"id": p.id, "choice": (p.answer or 0) + 1}) for p in items]
    path = tmp_path / "m.jsonl"
    path.write_text("\n".join(lines), "utf-8")
    with pytest.raises(FormatError, match=r"'choice' must count from 0, but no choice is 0"):
        answers.read(path, items)
    path.write_text("\n".join([json.dumps({"id": items[0].id, "choice": 0}), *lines[1:]]), "utf-8")
    assert answers.read(path, items)["m"].by_id[items[0].id].choice == 0
