"""Exported tasks run in their harnesses and give winosmith's own scores."""

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from tests.conftest import installed
from tests.release.conftest import run_inspect, run_script
from winosmith import Dataset, Problem, formats, solve
from winosmith.cli import main
from winosmith.errors import DataError, OutputError
from winosmith.release import write_inspect_task, write_lm_eval_task
from winosmith.release._interchange import make_inspect_ai_files
from winosmith.testing import make_twins

MakeModel = Callable[..., Path]

DATA = Dataset(
    [
        *make_twins(6, singles=1),
        Problem("open", "_ stood near the kettle.", ("amber", "The yarn"), 1),
        Problem("end", "They say that the candle stood because _", ("amber was.", "it was."), 0),
        Problem("his", "They say that _ lamp stood.", ("Ann", "The basket"), 1, pronoun="his"),
        Problem("three", "They say the _ stood.", ("amber", "the drawer", "it"), 2),
        Problem("number", "They counted the _ 3", ("amber", "candle"), 0),
        Problem("digit", "They say the _.", ("amber [", "{{ candle }}"), 0),
    ],
    "Made, by hand (2)",
)

PROMPT = "They say that the amber stood.\n\nThe candle {{stood}}.\n\n"


LM_EVAL = """
import json, sys
import lm_eval
from lm_eval.models.huggingface import HFLM
from lm_eval.tasks import TaskManager
found = []
for folder, model, tasks in json.loads(sys.argv[1]):
    done = lm_eval.simple_evaluate(
        model=HFLM(pretrained=model, device="cpu", batch_size=4), tasks=tasks, log_samples=True,
        task_manager=TaskManager(include_path=folder, include_defaults=False), bootstrap_iters=0)
    found.append({sample["doc"]["id"]: [float(given[0][0]) for given in sample["resps"]]
                  for task in tasks for sample in done["samples"][task]})
print("RESULT" + json.dumps(found))
"""


@pytest.mark.long
@pytest.mark.models
def test_lm_eval_scores_match_ours_to_1e_4(make_language_model, tmp_path):
    installed("lm_eval")
    runs: list[tuple[str, str, Literal["partial", "full"], bool | None]] = [
        ("gpt2", "", "partial", None),
        ("opt", PROMPT, "partial", None),
        ("gpt2", "", "full", True),
    ]
    asked = []
    for number, (architecture, prompt, score, _) in enumerate(runs):
        folder = tmp_path / str(number)
        tasks = write_lm_eval_task(DATA, folder, prompt=prompt, score=score)
        asked.append([str(folder), str(make_language_model(architecture)), tasks])
    found = run_script(LM_EVAL, json.dumps(asked), where=tmp_path)
    for (_, prompt, score, bos), (_, model, _), theirs in zip(runs, asked, found, strict=True):
        ours = solve.Causal(model, score, prompt=prompt, bos=bos).score(DATA)
        for problem, own in zip(DATA, ours, strict=True):
            np.testing.assert_allclose(theirs[problem.id], own, atol=1e-4, err_msg=problem.id)


@pytest.mark.models
def test_winogrande_task_of_lm_eval_compares_the_same_texts(
    data_dir, make_language_model, tmp_path
):
    """Six of the 1,267 dev sentences have two spaces after the blank; lm-eval's task keeps one."""
    installed("lm_eval")
    spec = importlib.util.find_spec("lm_eval")
    own = Path(spec.origin).parent / "tasks" / "winogrande" / "preprocess_winogrande.py"
    task: dict[str, Callable[[dict[str, str]], object]] = {}
    exec(own.read_text("utf-8"), task)  # noqa: S102 - the harness's own functions
    dev = formats.read(data_dir / "winogrande" / "dev.jsonl")
    write_lm_eval_task(dev, tmp_path / "task")
    lines = (tmp_path / "task" / "partial.jsonl").read_text("utf-8").splitlines()
    spaced = 0
    for line, problem in zip(lines, dev, strict=True):
        record = json.loads(line)
        options = dict(zip(("option1", "option2"), problem.options, strict=True))
        doc = {"sentence": problem.sentence, **options, "answer": str((problem.answer or 0) + 1)}
        assert task["doc_to_choice"](doc) == record["contexts"]
        assert task["doc_to_target"](doc) == record["rest"].lstrip()
        spaced += record["rest"].startswith("  ")
        assert task["doc_to_text"](doc) == record["label"]
    assert spaced == 6


@pytest.mark.long
def test_inspect_accuracy_matches_a_model_that_answers_a(tmp_path):
    name = write_inspect_task(DATA, tmp_path / "task")
    assert name == "made_by_hand_2"
    task = tmp_path / f"task/{name}.py"
    metrics, options = run_inspect(task, "A" * len(DATA), tmp_path / "logs")
    assert options == {problem.id: list(problem.options) for problem in DATA}
    right = np.mean([problem.answer == 0 for problem in DATA])
    assert metrics["accuracy"] == pytest.approx(right)
    assert metrics["stderr"] > 0


def test_export_without_answers_is_refused(tmp_path):
    for export in (write_lm_eval_task, write_inspect_task):
        with pytest.raises(DataError, match="19 of 19 problems have no answer \\('0-0', "):
            export(DATA.blind(), tmp_path / "task")
        with pytest.raises(DataError, match="there are no problems to export"):
            export(Dataset(), tmp_path / "task")
    assert not (tmp_path / "task").exists()


def test_canary_adds_only_one_line_of_code():
    for canary in ("x", "x\nimport os\u2028import sys"):
        _, *rest = make_inspect_ai_files(DATA, "task", canary)["task.py"].splitlines()
        assert rest[0].startswith('"""')


def test_export_does_not_overwrite_other_files(tmp_path):
    (tmp_path / "mine.txt").write_text("mine", "utf-8")
    with pytest.raises(OutputError, match="was not written by winosmith"):
        write_lm_eval_task(DATA, tmp_path)
    write_lm_eval_task(DATA, tmp_path / "task")
    before = (tmp_path / "task" / "partial.jsonl").read_bytes()
    write_lm_eval_task(DATA, tmp_path / "task")
    assert (tmp_path / "task" / "partial.jsonl").read_bytes() == before
    with pytest.raises(OutputError, match="contains results from other settings"):
        write_lm_eval_task(DATA, tmp_path / "task", score="full")


@pytest.mark.parametrize(("harness", "file"), [("lm-eval", "twins_partial.yaml"),
                                               ("inspect-ai", "twins.py")])  # fmt: skip
def test_convert_writes_the_folder_of_a_harness(tmp_path, capsys, harness, file):
    source, target = tmp_path / "twins.jsonl", tmp_path / "the task"
    formats.write(make_twins(3), source)
    assert main(["convert", str(source), str(target), "--to", harness]) == 0
    said = capsys.readouterr().err
    assert f"wrote: {target} ({harness}), 6 problems" in said
    assert f"'{target}" in said
    assert (target / file).is_file()
    assert main(["convert", str(source), str(target), "--to", harness, "--force"]) == 2
    told = capsys.readouterr().err
    assert "--recast, --errata, --with-embargo and --force can't be used with a harness" in told
