"""Instance records of Every Eval Ever."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from tests.conftest import examples, needed
from winosmith import Dataset, Prediction, answers
from winosmith.answers import Answers
from winosmith.errors import FormatError
from winosmith.testing import make_twins

DATA = make_twins(12, singles=2)

PREDICTIONS = st.lists(
    st.sampled_from([(0, (), ()), (1, (), ()), (None, (), ()), (0, (), (0, 1))]),
    min_size=len(DATA),
    max_size=len(DATA),
).filter(lambda held: any(choice is not None for choice, *_ in held))


def _answers(held: list[tuple[Any, ...]]) -> Answers:
    made = [Prediction(p.id, *one) for p, one in zip(DATA, held, strict=True)]
    return Answers(tuple(made), "model")


@examples(30)
@given(held=PREDICTIONS)
def test_instance_records_round_trip(held, tmp_path_factory):
    """Choices, ties and invalid answers are a round trip, with reproducible bytes."""
    file = tmp_path_factory.mktemp("records") / "records.jsonl"
    own = _answers(held)
    answers.write_instance_records(file, DATA, {"org/a": own, "org/b": own})
    raw = file.read_bytes()
    answers.write_instance_records(file, DATA, {"org/a": own, "org/b": own})
    assert file.read_bytes() == raw
    found = answers.read(file, DATA)
    assert [*found] == ["org/a", "org/b"]
    for of in found.values():
        assert [p.chosen for p in of.align_with(DATA).predictions] == [
            p.chosen for p in own.predictions
        ]
        assert (of.log.keys_differ, of.log.scores_differ) == ((), ())


def _records(path: Path) -> list[dict[str, Any]]:
    choices: list[tuple[Any, ...]] = [(n % 2,) for n in range(len(DATA))]
    choices[0], choices[1] = (None,), (0, (), (0, 1))
    answers.write_instance_records(path, DATA, {"org/a": _answers(choices)})
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="every-eval-ever needs Python 3.12")
def test_records_match_the_schema_of_every_eval_ever(tmp_path):
    needed("every_eval_ever")
    from every_eval_ever.instance_level_types import InstanceLevelEvaluationLog

    for record in _records(tmp_path / "records.jsonl"):
        InstanceLevelEvaluationLog.model_validate(record)


def test_records_have_scores_and_correctness(tmp_path):
    first, second, *rest = _records(tmp_path / "records.jsonl")
    assert (first["output"]["raw"], first["evaluation"]) == (
        [""],
        {"is_correct": False, "score": 0.0},
    )
    assert second["evaluation"] == {"is_correct": False, "score": 0.5}
    assert second["metadata"] == {"tied": "0,1"}
    for number, (record, problem) in enumerate(zip(rest, DATA[2:], strict=True), 2):
        assert record["evaluation"]["is_correct"] == (number % 2 == problem.answer)
        assert record["input"]["reference"] == [problem.options[problem.answer or 0]]


def test_records_of_other_tools_are_read(tmp_path):
    """They have lettered options in prompts, several results per sample, and failed samples."""
    lines = []
    for number, problem in enumerate(DATA):
        first, second = problem.options
        prompt = f"Fill the blank.\n{problem.sentence}\nA) {first}\nB) {second}"
        for result in ("acc", "f1"):
            lines.append(
                {
                    "schema_version": "0.3.0",
                    "evaluation_id": "e",
                    "model_id": "org/a",
                    "evaluation_name": "twins",
                    "evaluation_result_id": result,
                    "sample_id": f"{number}",
                    "interaction_type": "multi_turn",
                    "input": {"raw": prompt, "reference": ["AB"[problem.answer or 0]]},
                    "messages": [{"turn_idx": 0, "role": "assistant", "content": "B, I think"}],
                    "answer_attribution": [
                        {"turn_idx": 0, "source": "messages[0].content", "extracted_value": "B",
                         "extraction_method": "regex", "is_terminal": True}
                    ],
                    "evaluation": {"score": 1.0, "is_correct": problem.answer == 1},
                    **({"error": "time-out"} if number == 3 else {}),
                }
            )  # fmt: skip
    path = tmp_path / "records.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    found = answers.read(path, DATA)["org/a"]
    assert found.log.filter == "acc"
    assert {p.choice for p in found.predictions} == {1}
    assert len(found.predictions) == len(DATA) - 1
    assert (found.log.keys_differ, found.log.scores_differ) == ((), ())
    with pytest.raises(FormatError, match="0 of 26 rows match the question"):
        answers.read(path, Dataset(make_twins(4, seed=9).problems))
