"""Logs of other harnesses; their rows are matched to items by texts."""

import gzip
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.answers.items import DATA as LETTERED, write_jsonl
from tests.conftest import installed, run_alone
from winosmith import Dataset, Problem, answers, formats
from winosmith.errors import FormatError
from winosmith.release import write_lm_eval_task


def _quiz(n: int = 12) -> Dataset:
    rng = np.random.default_rng(3)
    jobs = ["bread", "soup", "coats", "planes", "bricks", "wheat"]
    return Dataset(
        Problem(
            f"q{at}",
            f"In town {at}, what  does the baker sell?",
            tuple(map(str, rng.choice(jobs, 4, replace=False))),
            at % 4,
            blank=None,
        )
        for at in range(n)
    )


def _read_choices(path: Path, data: Dataset, *filters: str) -> dict[str, dict[str, object]]:
    """Return each model's choices: an option, the options of a tie, or None if invalid."""
    return {
        model: {
            one.problem_id: one.chosen[0] if len(one.chosen) == 1 else one.chosen or None
            for one in own.predictions
        }
        for model, own in answers.read(path, data, filters=filters).items()
    }


def _reverse_items(data: Dataset) -> Dataset:
    """Return the items in reverse, with reversed options and other ids."""
    turned = [
        replace(p, id=f"mine-{p.id}", options=p.options[::-1], answer=3 - (p.answer or 0))
        for p in data
    ]
    return Dataset(reversed(turned))


def _sample(
    doc: Mapping[str, Any], scores: Sequence[object], ends: Sequence[str], **more: Any
) -> dict[str, Any]:
    """Return a line of a samples file of lm-evaluation-harness 0.4.13."""
    return {
        "doc_id": 0,
        "doc": doc,
        "target": "0",
        "arguments": {f"gen_args_{k}": {"arg_0": "?", "arg_1": end} for k, end in enumerate(ends)},
        "resps": [[[str(score), "False"]] for score in scores],
        "filtered_resps": [[str(score), "False"] for score in scores],
        "filter": "none",
        **more,
    }


def _doc(problem: Problem) -> dict[str, Any]:
    answer = problem.answer
    return {"question": problem.sentence, "choices": [*problem.options], "answer": answer}


LM_EVAL = """
import sys
from lm_eval.__main__ import cli_evaluate
sys.argv = ["lm_eval", "run", "--model", "dummy", "--tasks", "letters,texts",
            "--include_path", "tasks", "--log_samples", "--output_path", "out/dummy.json"]
cli_evaluate()
"""

TASK = """
task: {name}
dataset_path: json
dataset_kwargs: {{data_files: {{test: "{file}"}}}}
test_split: test
output_type: multiple_choice
doc_to_text: "{{{{question}}}}"
doc_to_choice: {choices}
doc_to_target: answer
metric_list: [{{metric: acc}}{more}]
"""


@pytest.mark.long
@pytest.mark.models
def test_lm_eval_samples_have_the_same_correct_answers(tmp_path):
    installed("lm_eval")
    data = _quiz()
    file = write_jsonl(tmp_path / "quiz.jsonl", [_doc(problem) for problem in data])
    tasks = {"letters": ('["A", "B", "C", "D"]', ""),
             "texts": ('"{{choices}}"', ", {metric: acc_mutual_info}")}  # fmt: skip
    (tmp_path / "tasks").mkdir()
    for name, (choices, more) in tasks.items():
        text = TASK.format(name=name, file=file, choices=choices, more=more)
        (tmp_path / "tasks" / f"{name}.yaml").write_text(text, "utf-8")
    run_alone(LM_EVAL, where=tmp_path)
    for name in tasks:
        (log,) = (tmp_path / "out").glob(f"samples_{name}_*.jsonl")
        right = [json.loads(line)["acc"] for line in log.read_text("utf-8").splitlines()]
        ours = _reverse_items(data)
        (chosen,) = _read_choices(log, ours).values()
        assert [chosen[p.id] == p.answer for p in reversed(ours.problems)] == [*map(bool, right)]
        assert None not in chosen.values()


INSPECT = """
import json, sys
from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import choice
from inspect_ai.solver import multiple_choice
docs = json.loads(sys.argv[1])
asked = MemoryDataset([Sample(input=doc["question"], choices=doc["choices"],
                              target="ABCD"[doc["answer"]]) for doc in docs])
asked.shuffle_choices(3)
for kind in ("eval", "json"):
    said = [ModelOutput.from_content("mockllm/model", f"ANSWER: {'ABCD'[at % 4]}" if at else "?")
            for at in range(2 * len(docs))]
    for one in said:
        one.usage = ModelUsage()  # else it downloads a tokeniser to count
    eval(Task(dataset=asked, solver=multiple_choice(), scorer=choice()), epochs=2,
         model=get_model("mockllm/model", custom_outputs=said), max_connections=1, max_samples=1,
         display="none", log_dir=kind, log_format=kind)
"""


@pytest.mark.long
def test_inspect_logs_with_shuffled_options_match_its_scores(tmp_path):
    """Ids in the log are numbers of samples."""
    installed("inspect_ai")
    data = _quiz(6)
    run_alone(INSPECT, json.dumps([_doc(problem) for problem in data]), where=tmp_path)
    (plain,) = (tmp_path / "json").glob("*.json")
    ours = _reverse_items(data)
    samples = json.loads(plain.read_text("utf-8"))["samples"]
    for epoch in ("1", "2"):
        (found,) = answers.read(plain, ours, filters=[epoch]).values()
        assert found == answers.read(tmp_path / "eval", ours, filters=[epoch])[found.solver]
        assert (found.solver, found.log.filter) == ("mockllm/model", f"epoch {epoch}")
        correct = {
            one["input"]: one["scores"]["choice"]["value"] == "C"
            for one in samples
            if one["epoch"] == int(epoch)
        }
        assert found.by_id.keys() == {*ours.ids}
        for problem in ours:
            assert found.by_id[problem.id].credit(problem.answer) == correct[problem.sentence]
        assert (found.by_id["mine-q0"].choice is None) == (epoch == "1")
        assert (found.log.keys_differ, found.log.keys_compared) == ((), 6)
    assert answers.read(plain, ours)["mockllm/model"].log.filter == "epoch 1"


def test_rows_are_matched_by_text_not_by_id_or_order(tmp_path):
    data = _quiz()
    by_place = Dataset(replace(p, id=str(at)) for at, p in enumerate(data))
    rows = [
        _sample({"id": str(at), **_doc(problem)}, [-3, -1, -4, -2], problem.options)
        for at, problem in enumerate([*data.problems[3:], *data.problems[:3]])
    ]
    path = write_jsonl(tmp_path / "m" / "samples_quiz_1.jsonl", rows)
    assert _read_choices(path, by_place) == {"m": dict.fromkeys(by_place.ids, 1)}
    turned = _reverse_items(data)
    assert _read_choices(path, turned) == {"m": dict.fromkeys(turned.ids, 2)}


def test_rows_of_copies_are_matched_by_id_or_order(tmp_path):
    first = _quiz(1).problems[0]
    data = Dataset([first, replace(first, id="copy")])
    scores = {"q0": [-1, -2, -3, -4], "copy": [-2, -1, -3, -4]}
    rows = [_sample({"id": p.id, **_doc(p)}, scores[p.id], p.options) for p in data]
    path = write_jsonl(tmp_path / "m" / "samples_quiz.jsonl", rows)
    assert _read_choices(path, data) == {"m": {"q0": 0, "copy": 1}}
    sure = _quiz(5).problems[4]
    rows = [_sample(_doc(p), scores.get(p.id, [-1, -2, -3, -4]), p.options) for p in [*data, sure]]
    path = write_jsonl(tmp_path / "m" / "samples_quiz.jsonl", rows)
    found = _read_choices(path, Dataset([*data, sure]))
    assert found == {"m": {"q0": 0, "copy": 1, "q4": 0}}
    found = _read_choices(write_jsonl(path, rows[1:]), Dataset([*data, sure]))
    assert found == {"m": {"q0": 1, "copy": 1, "q4": 0}}


def test_scored_text_identifies_the_option(tmp_path):
    """The task scores the options in another order than its record states."""
    data = _quiz(4)
    rows = [_sample(_doc(p), [-1, -2, -3, -4], p.options[::-1]) for p in data]
    path = write_jsonl(tmp_path / "samples_quiz.jsonl", rows)
    assert set(_read_choices(path, data)[tmp_path.name].values()) == {3}


@pytest.mark.parametrize(
    ("scores", "ends", "target", "chosen"),
    [
        ([-2, -1, -1, -3], "ABCD", "0", {"q0": (1, 2)}),
        ([-2, -1, "nan", -3], "ABCD", "0", {"q0": None}),
        ([-2, -1, "-inf", -3], "ABCD", "0", {"q0": 1}),
        ([-2, -1, -3, -3], "BADC", "0", {"q0": 0}),
        ([-2, -1, -3, -3, -4, -5, -1, -1], "ABCD" * 2, "0", {"q0": 1}),
        (
            [-2, -1, -3, -3],
            ["is it"] * 4,
            "0",
            {"q0": 1},
        ),  # a cloze task; the target shows the order
        ([-2, -1, -3, -3], ["is it"] * 4, "3", {}),
        ([-2, -1, -3], "ABC", "0", {}),
    ],
)
def test_highest_log_likelihood_is_the_choice(scores, ends, target, chosen, tmp_path):
    """If the order of the options is unknown, the item is missing."""
    sure, asked = _quiz(5).problems[4], _quiz(1).problems[0]
    rows = [
        _sample(_doc(asked), scores, ends, target=target),
        _sample(_doc(sure), [-1, -2, -3, -4], "ABCD"),
    ]
    path = write_jsonl(tmp_path / "samples_quiz.jsonl", rows)
    found = _read_choices(path, Dataset([asked, sure]))[tmp_path.name]
    assert found == {**chosen, "q4": 0}


def test_replies_are_letters_or_option_texts(tmp_path):
    data = _quiz(4)
    said = ["(B)", "c.", data[2].options[3].upper(), "I think it is B"]
    rows = [
        _sample(_doc(p), [], [], filtered_resps=[text]) for p, text in zip(data, said, strict=True)
    ]
    path = write_jsonl(tmp_path / "samples_quiz.jsonl", rows)
    found = _read_choices(path, data)[tmp_path.name]
    assert found == {"q0": 1, "q1": 2, "q2": 3, "q3": None}


@pytest.mark.parametrize("as_chat", [False, True])
def test_letters_of_samples_count_in_the_order_of_the_prompt(as_chat, tmp_path):
    """The task lists the options in reverse; a chat is logged as JSON."""
    rows = []
    for item in _quiz(4):
        shown = [
            f"{letter}. {text}" for letter, text in zip("ABCD", item.options[::-1], strict=True)
        ]
        text = "\n".join([item.sentence, *shown])
        text = json.dumps([{"role": "user", "content": text}]) if as_chat else text
        request = {"gen_args_0": {"arg_0": text, "arg_1": {}}}
        target = "DCBA"[item.answer or 0]
        row = _sample(_doc(item), [], [], filtered_resps=["A"], target=target)
        rows.append({**row, "arguments": request})
    path = write_jsonl(tmp_path / "samples_quiz.jsonl", rows)
    found = answers.read(path, _quiz(4))[tmp_path.name]
    assert [one.choice for one in found.predictions] == [3] * 4
    assert not found.log.keys_differ


def test_log_likelihoods_may_be_infinite_in_json(tmp_path):
    rows = [_sample(_doc(one), [], "ABCD") for one in _quiz(3)]
    for row in rows:
        row["filtered_resps"] = [[-np.inf, False], [-2.0, False], [-np.inf, False], [-3.0, False]]
    rows[2]["filtered_resps"][0] = [np.inf, False]  # not a log-likelihood
    path = write_jsonl(tmp_path / "samples_quiz.jsonl", rows)
    assert _read_choices(path, _quiz(3))[tmp_path.name] == {"q0": 1, "q1": 1, "q2": None}


@pytest.mark.parametrize(
    ("question", "chosen"),
    [('Is rock {} "hard"?\nA. no\nB. yes', 1), ("Rock {} is hard. Yes (A) or no (B)?", 0)],
)
def test_letters_do_not_count_in_the_order_of_solved_examples(question, chosen, tmp_path):
    """The task may change the texts of its record, so that the prompt doesn't contain them."""
    data = Dataset(
        Problem(f"q{at}", f'Is rock {at} "hard"?', ("yes", "no"), at % 2, blank=None)
        for at in range(4)
    )
    samples = []
    for at, item in enumerate(data):
        text = f"Is it wet?\nA. no\nB. yes\nAnswer: B\n\n{question.format(at)}\nAnswer:"
        text = json.dumps([{"role": "user", "content": text}])
        requests = {f"gen_args_{one}": {"arg_0": text, "arg_1": f" {one}"} for one in "AB"}
        target = "AB"[at % 2 ^ chosen]
        samples.append(_sample(_doc(item), [-1, -2], "AB", target=target, arguments=requests))
    path = write_jsonl(tmp_path / "samples_hard.jsonl", samples)
    found = answers.read(path, data)[tmp_path.name]
    assert [one.choice for one in found.predictions] == [chosen] * 4
    assert not found.log.keys_differ


def test_samples_of_exported_tasks_match_by_id_and_text(tmp_path):
    data = Dataset(
        Problem(f"{at}", f"The {word} of the cup is that _ fell.", (f"jug{at}", "cup"), at % 2)
        for at, word in enumerate(["end", "point", "trouble", "luck"])
    )
    write_lm_eval_task(data, tmp_path / "task")
    docs = [
        json.loads(line)
        for line in (tmp_path / "task" / "partial.jsonl").read_text("utf-8").splitlines()
    ]
    rows = [_sample(doc, [-2, -1], ["", ""], target=str(doc["label"])) for doc in docs]
    path = write_jsonl(tmp_path / "m" / "samples_quiz.jsonl", rows)
    assert _read_choices(path, data) == {"m": dict.fromkeys(data.ids, 1)}
    moved = Dataset(replace(p, id=str(3 - int(p.id))) for p in data)
    with pytest.raises(FormatError, match="only 0 of 4 rows match the question"):
        _read_choices(path, moved)


def test_rows_without_an_item_are_reported(tmp_path):
    data, other = _quiz(6), Problem("x", "Who?", ("ann", "bob"), 0, blank=None)
    rows = [_sample(_doc(p), [-1, -2, -3, -4][: len(p.options)], "ABCD"[: len(p.options)])
            for p in (*data, other)]  # fmt: skip
    path = write_jsonl(tmp_path / "samples_quiz.jsonl", rows)
    with pytest.warns(formats.ReadingNote, match="1 of 7 rows match no item \\(line 7, …\\)"):
        found = _read_choices(path, data)
    assert found == {tmp_path.name: dict.fromkeys(data.ids, 0)}


def test_files_of_one_model_are_merged(tmp_path):
    """Files of other data are reported; repeated answers are refused."""
    data = _quiz(6)
    rows = [_sample(_doc(p), [-1, -2, -3, -4], "ABCD") for p in data]
    other = _sample(_doc(Problem("x", "Who?", ("ann", "bob"), 0, blank=None)), [-1, -2], "AB")
    write_jsonl(tmp_path / "m" / "samples_a.jsonl", rows[:3])
    write_jsonl(tmp_path / "m" / "samples_b.jsonl", rows[3:])
    assert _read_choices(tmp_path, data) == {"m": dict.fromkeys(data.ids, 0)}
    write_jsonl(tmp_path / "m" / "samples_c.jsonl", [other])
    with pytest.warns(formats.ReadingNote, match="samples_c.jsonl:1: only 0 of 1 rows"):
        _read_choices(tmp_path, data)
    write_jsonl(tmp_path / "m" / "samples_c.jsonl", rows[:1])
    with pytest.raises(FormatError, match="'m' has already answered 'q0' in another file"):
        _read_choices(tmp_path, data)
    (tmp_path / "empty").mkdir()
    with pytest.raises(FormatError, match="contains no logs"):
        _read_choices(tmp_path / "empty", data)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"results": {},\n "configs": {}}', "these are results, not answers"),
        ('{"eval": {"model": "m"},\n "samples": []}', "the log has no samples"),
        ('{"eval": {"model": "m"},\n "status": "error"}', "not a valid inspect_ai log"),
        ('{"doc": {}, "resps": []}\n{"doc', ":2: the line is not JSON"),
        ('{"doc": [], "resps": []}', ":1: this is not a sample: it has no 'doc'"),
        ('{"doc": {"q": 1}, "resps": [["x", "True"]]}', ":1: 'x' is not a log-likelihood"),
        ('{"doc": {"q": 1}, "resps": [["A", "B"]]}', ":1: the item has 2 replies; add a filter"),
        ('{"doc": {"q": 1}, "resps": ["A"]}', "The 'doc' fields can't be read as items: no known"),
        ('{"doc": {"q": "\\ud800"}, "resps": ["A"]}', "The 'doc' fields can't be read as items"),
        ('{"doc": {}, "resps": [], "arguments": [1], "target": "²"}', "0 of 1 rows"),
        ('{"doc": {}, "resps": [], "arguments": 1, "target": "' + 5000 * "9" + '"}', "0 of 1 rows"),
        (
            '{"doc": {}, "resps": []}\n{"doc\udcff',
            ":2: the file is not UTF-8, but probably in Latin-1",
        ),
        ('{"eval": {},\n "samples": [1]}', "not a valid inspect_ai log"),
        ('{"eval": {},\n "samples": [{"choices": 3, "scores": [1]}]}', "0 of 1 rows"),
        ('{"eval": {},\n "samples": [{"attachments": [1], "input": "?"}]}', "0 of 1 rows"),
        ("id,m\nq0," + 200_000 * "A", ":2: this is not a row of a table: field larger"),
        ("0\n1\n" * 6, ":1: 'q0': 0 is not a label: options are numbered from 1"),
    ],
)
def test_unreadable_logs_are_refused(text, message, tmp_path):
    path = tmp_path / "log.json"
    path.write_text(text, encoding="utf-8", errors="surrogateescape")
    with pytest.raises(FormatError, match=f"(?i){message}"):
        _read_choices(path, _quiz())


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"header.json": "[" * 100_000, "summaries.json": "[]"}, "header.json: this is not JSON"),
        (
            {
                "header.json": '{"status": "cancelled", "eval": {"dataset": {"samples": 9}}}',
                "summaries.json": "[]",
            },
            "the log has no samples: the run was cancelled after 0 of 9",
        ),
        ({"header.json": "[]", "summaries.json": "[]"}, "not a valid inspect_ai log"),
        ({"header.json": "{}", "samples/1.json": "[]"}, "not a valid inspect_ai log"),
        ({"header.json": '{"eval": {}}', "samples/1.json": " " * (1 << 27)}, "300 times its size"),
    ],
)
def test_archive_that_is_not_a_log_is_refused(parts, message, tmp_path):
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, text in parts.items():
            packed.writestr(name, text)
    with pytest.raises(FormatError, match=message):
        _read_choices(path, _quiz())


def test_log_of_an_unfinished_run_is_read(tmp_path):
    """Its archive has no header."""
    item = _quiz(1)[0]
    sample = {"id": 1, "epoch": 1, "input": item.sentence, "choices": item.options, "target": "A",
              "scores": {"choice": {"value": "C", "answer": "A"}}}  # fmt: skip
    start = {"eval": {"model": "m", "dataset": {"samples": 3}}}
    with zipfile.ZipFile(tmp_path / "log.eval", "w") as packed:
        packed.writestr("_journal/start.json", json.dumps(start))
        packed.writestr("samples/1_epoch_1.json", json.dumps(sample))
    (found,) = answers.read(tmp_path / "log.eval", _quiz(1)).values()
    assert found.log.status == "the run did not finish after 1 of 3"
    assert [one.choice for one in found.predictions] == [0]


def test_log_with_one_score_is_read(tmp_path):
    """The first versions of inspect_ai write `score`, not `scores`."""
    item = _quiz(1)[0]
    score = {"value": "C", "answer": "B"}
    sample = {"id": 1, "input": item.sentence, "choices": item.options, "score": score}
    path = tmp_path / "log.json"
    path.write_text(json.dumps({"eval": {"model": "m"}, "samples": [sample]}))
    assert _read_choices(path, _quiz(1)) == {"m": {"q0": 1}}


def test_picked_option_of_openai_evals_is_read(tmp_path):
    """Without `picked`, the reply is the answer."""
    item = _quiz(1)[0]
    own = {"sampled": "It is C, surely.", "expected": "A", "correct": False,
           "prompt": f"{item.sentence} {' '.join(item.options)}"}  # fmt: skip
    for more, chosen in (({"picked": "C"}, 2), ({"sampled": "(C)", "picked": None}, 2)):
        event = {"sample_id": "q.0", "type": "match", "data": own | more}
        path = write_jsonl(tmp_path / "log.jsonl", [{"spec": {"completion_fns": ["m"]}}, event])
        assert _read_choices(path, _quiz(1)) == {"m": {"q0": chosen}}


@pytest.mark.parametrize(
    ("options", "mark"),
    [
        (("cup", "cup holder", "a cup", "cup board"), "{}) {}"),
        (("US", "us", "Us.", "them"), "({}) {}"),
        (("5", "15", "1", "51"), "{}. {}"),
        (("red", "blue", "red", "green"), "{}: {}"),
        (("-5", "5", "$5", "–5"), "{} - {}"),
    ],
)
def test_a_letter_means_the_option_that_the_prompt_lists_with_it(options, mark, tmp_path):
    """Options may be parts of others, equal or in any order; others may have the same question."""
    item = Problem("q", "Which is it?", options, 1, blank=None)
    other = replace(item, id="p", options=("1", "5"))  # the same question, and parts of options
    for shown in ((3, 1, 2, 0), (0, 2, 3, 1)):
        lines = [mark.format(letter, options[at]) for letter, at in zip("ABCD", shown, strict=True)]
        letter = "ABCD"[shown.index(1)]
        event = {
            "sampled": letter,
            "expected": letter,
            "prompt": "\n".join(["Which is it?", *lines]),
        }
        record = {"sample_id": "q.0", "type": "match", "data": event}
        path = write_jsonl(tmp_path / "log.jsonl", [record])
        found = answers.read(path, Dataset([other, item]))["log"]
        assert [(one.problem_id, one.choice) for one in found.predictions] == [("q", 1)]
        assert found.log.keys_compared == 1
        assert not found.log.keys_differ


@pytest.mark.parametrize("ends", ["ABCD", ("blue", "red", "red", "green")])
def test_equal_options_are_valid_answers(ends, tmp_path):
    """A model that chooses one of several identical options gave an incorrect, valid answer."""
    data = Dataset([Problem("q", "Which?", ("blue", "red", "red", "green"), 0, blank=None)])
    sample = _sample(_doc(data[0]), [-4, -2, -1, -3], ends)
    scores = write_jsonl(tmp_path / "m" / "samples_t.jsonl", [sample])
    assert _read_choices(scores, data) == {"m": {"q": 2}}
    tied = sample | {"filtered_resps": [[-1, False], [-1, False], [-1, False], [-3, False]]}
    path = write_jsonl(tmp_path / "m" / "samples_t.jsonl", [tied])
    assert _read_choices(path, data) == {"m": {"q": (0, 1, 2)}}
    (tmp_path / "t.json").write_text('{"q": "red"}')
    assert _read_choices(tmp_path / "t.json", data) == {"t": {"q": 1}}


@pytest.mark.parametrize("model", ["m", "other"])
@pytest.mark.parametrize("second", [("flexible", "strict"), ("flexible",)])
def test_files_are_read_with_the_same_filter(second, model, tmp_path):
    """Also if the files belong to one model, or if a file has only one of the filters."""
    data, paths = _quiz(), []
    for name, items, filters in (
        ("m", data[:6], ("strict", "flexible")),
        (model, data[6:], second),
    ):
        samples = [
            _sample(_doc(one), [], [], target="A", filter=own, filtered_resps=["B"])
            for one in items
            for own in filters
        ]
        paths.append(write_jsonl(tmp_path / name / f"samples_{len(paths)}.jsonl", samples))
    reason = r"uses the filter 'strict', but .* uses 'flexible'; choose one filter with `filters=`"
    for given in ([*paths], tmp_path):
        with pytest.raises(FormatError, match=reason):
            answers.read(given, data)
        for name, other in (("flexible", "strict"), ("strict", "flexible"))[: len(second)]:
            found = answers.read(given, data, filters=[name])
            assert sum(len(own.predictions) for own in found.values()) == len(data)
            for own in found.values():
                assert name in own.log.used
                assert other not in own.log.used


def test_the_target_decides_whether_letters_are_options(tmp_path):
    """If all options are letters, the requests may be the options or their letters."""
    data = Dataset(one for one in LETTERED if one.options[0] in "ABCD")
    for by_text in (False, True):
        samples = []
        for one in data:
            ends = sorted(one.options)
            key = ends.index(one.options[one.answer or 0]) if by_text else one.answer or 0
            scores = [-1 if at == key else -2 for at in range(4)]
            samples.append(_sample(_doc(one), scores, ends, target=str(key)))
        path = write_jsonl(tmp_path / "m" / "samples_t.jsonl", samples)
        found = answers.read(path, data)["m"]
        assert [one.choice for one in found.predictions] == [*data.answers]
        assert not found.log.keys_differ


def test_c_and_n_are_letters_if_c_is_graded_incorrect(tmp_path):
    """A C that is graded correct, although the key differs, would mean "correct"."""
    items = _quiz(3)
    samples = [
        {"id": at, "input": item.sentence, "choices": item.options, "target": "A",
         "scores": {"choice": {"value": "I", "answer": "CNC"[at]}}}
        for at, item in enumerate(items)
    ]  # fmt: skip
    path = tmp_path / "log.json"
    path.write_text(json.dumps({"eval": {"model": "m"}, "samples": samples}))
    assert [*_read_choices(path, items)["m"].values()] == [2, None, 2]


@pytest.mark.parametrize("target", ["letter", "text", "index"])
@pytest.mark.parametrize("reply", ["letter", "text"])
def test_replies_may_differ_in_kind_from_the_keys(target, reply, tmp_path):
    """The options of every second item are letters; 90 % of replies decide the kind."""

    def write(problem: Problem, kind: str) -> str:
        at = problem.answer or 0
        return {"letter": "ABCD"[at], "text": problem.options[at], "index": str(at)}[kind]

    rows = [
        {"doc": _doc(p), "target": write(p, target), "filtered_resps": [write(p, reply)]}
        for p in LETTERED
    ]
    path = write_jsonl(tmp_path / "m" / "samples_quiz.jsonl", rows)
    assert _read_choices(path, LETTERED) == {"m": {p.id: p.answer for p in LETTERED}}


@pytest.mark.parametrize("write", ["{}", "({})", "{}.", "**{}**"])
def test_helm_letters_count_in_the_order_of_the_prompt(write, tmp_path):
    """The references of the items are in another order."""
    data, states = _quiz(4), []
    for p in data:
        references = [{"output": {"text": text}, "tags": ["correct"] * (at == p.answer)}
                      for at, text in enumerate(p.options)]  # fmt: skip
        reply = write.format("DCBA"[p.answer or 0].lower())
        states.append({
            "instance": {"id": p.id, "input": {"text": p.sentence}, "references": references},
            "output_mapping": dict(zip("ABCD", p.options[::-1], strict=True)),
            "result": {"completions": [{"text": reply}]},
        })  # fmt: skip
    log = {"adapter_spec": {"model": ""}, "request_states": states}
    path = write_jsonl(tmp_path / "run" / "scenario_state.json", [log])
    assert _read_choices(path, data) == {"run": {p.id: p.answer for p in data}}
    assert answers.read(path, data)["run"].log.keys_differ == ()


def test_reply_without_a_helm_mapping_is_a_letter(tmp_path):
    """It may also be the text of another option."""
    states = [
        {
            "instance": {
                "id": p.id,
                "input": {"text": p.sentence},
                "references": [
                    {"output": {"text": text}, "tags": ["correct"] * (at == p.answer)}
                    for at, text in enumerate(p.options)
                ],
            },
            "result": {"completions": [{"text": f" {'ABCD'[p.answer or 0]}"}]},
        }
        for p in LETTERED
    ]
    log = {"adapter_spec": {"model": ""}, "request_states": states}
    path = write_jsonl(tmp_path / "run" / "scenario_state.json", [log])
    assert _read_choices(path, LETTERED) == {"run": {p.id: p.answer for p in LETTERED}}


def test_compressed_logs_in_a_folder_are_read(tmp_path):
    data = _quiz(2)
    path = write_jsonl(tmp_path / "m" / "samples_a.jsonl",
                    [_sample(_doc(p), [-1, -2, -3, -4], "ABCD") for p in data])  # fmt: skip
    path.with_name("samples_a.jsonl.gz").write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    assert _read_choices(tmp_path, data) == {"m": dict.fromkeys(data.ids, 0)}


def test_numeric_option_labels_match_the_keys(tmp_path):
    """In ARC, some items have the labels 1 to 4, others A to D."""
    data = _quiz()
    samples = []
    for at, problem in enumerate(data):
        labels = "1234" if at % 3 == 0 else "ABCD"
        choices = {"text": [*problem.options], "label": [*labels]}
        key = labels[problem.answer or 0]
        doc = {"id": problem.id, "question": problem.sentence, "choices": choices, "answerKey": key}
        samples.append({"doc": doc, "target": key, "resps": [[key]], "filtered_resps": [key]})
    path = write_jsonl(tmp_path / "m" / "samples_arc_1.jsonl", samples)
    assert [*_read_choices(path, data)["m"].values()] == [*data.answers]


def test_targets_are_indices_of_requests(tmp_path):
    """In SciQ, the correct option is the last request, but may be any option of the data."""
    data, samples = _quiz(), []
    for problem in data:
        key = problem.options[problem.answer or 0]
        ends = [*(one for one in problem.options if one != key), key]
        names = ("distractor1", "distractor2", "distractor3", "correct_answer")
        doc = {"question": problem.sentence} | dict(zip(names, ends, strict=True))
        ends_scored = [f" {one}" for one in ends]
        samples.append(_sample(doc, [-4, -3, -2, -1], ends_scored, target="3"))
    path = write_jsonl(tmp_path / "m" / "samples_sciq_1.jsonl", samples)
    found = answers.read(path, data)["m"]
    assert [found.by_id[one.id].choice for one in data] == [*data.answers]
    assert found.log.keys_differ == ()


def test_targets_are_indices_of_requests_with_permuted_letters(tmp_path):
    """The requests are the labels of the choices, in the order of the record."""
    samples = []
    for problem in _quiz():
        choices = {"text": [*problem.options[::-1]], "label": [*"DCBA"]}
        key = "ABCD"[problem.answer or 0]
        doc = {"question": problem.sentence, "choices": choices, "answerKey": key}
        samples.append(_sample(doc, [-4, -3, -2, -1], "DCBA", target=str("DCBA".index(key))))
    path = write_jsonl(tmp_path / "samples_arc_1.jsonl", samples)
    with pytest.warns(formats.ReadingNote, match="labelled in another order"):
        found = answers.read(path, formats.read([one["doc"] for one in samples]))[tmp_path.name]
    assert {one.choice for one in found.predictions} == {0}
    assert found.log.keys_compared == 12
    assert found.log.keys_differ == ()


def test_hellaswag_is_matched_by_its_original_texts(tmp_path):
    """The task removes marks, and adds its texts to the record."""
    marked = [{"ind": at, "ctx": f"[header] How to bake {at} [title] Mix.", "label": f"{at % 4}",
               "endings": [f"[substeps] Add {end} {at}." for end in ("rye", "oil", "ice", "tea")]}
              for at in range(8)]  # fmt: skip
    samples = list[dict[str, Any]]()
    for at, row in enumerate(marked):
        ends = [str(end).removeprefix("[substeps] ") for end in row["endings"]]  # type: ignore[attr-defined]
        asked = {"query": f"Food: How to bake {at}. Mix.", "choices": ends, "gold": at % 4}
        scores = [float(place == at % 4) for place in range(4)]
        samples.append(_sample(row | asked, scores, ends, target=f"{at % 4}"))
    path = write_jsonl(tmp_path / "m" / "samples_hellaswag.jsonl", samples)
    for data in (marked, [{"id": one["doc"]["ind"], **one["doc"]} for one in samples]):
        found = answers.read(path, formats.read(data))["m"]
        assert [one.choice for one in found.predictions] == [0, 1, 2, 3, 0, 1, 2, 3]
    for one in samples:
        del one["doc"]["ctx"], one["doc"]["endings"], one["doc"]["label"]
    with pytest.raises(FormatError, match="may have changed the texts: hellaswag and gpqa remov"):
        answers.read(write_jsonl(path, samples), marked)


def test_reply_with_one_options_letter_and_anothers_text_is_invalid(tmp_path):
    data, samples = _quiz(), list[dict[str, Any]]()
    for at, item in enumerate(data):
        text = item.options[(0, 1)[at % 2]]
        samples.append(_sample(_doc(item), [], [], target="A") | {"filtered_resps": [f"A. {text}"]})
    path = write_jsonl(tmp_path / "m" / "samples_x.jsonl", samples)
    assert [*_read_choices(path, data)["m"].values()] == [0, None] * (len(data) // 2)


def test_log_whose_keys_are_letters_beyond_the_options_is_refused(tmp_path):
    """Every second item has the letters F, G, H and J, which the log does not map to options."""
    data, samples = _quiz(), list[dict[str, Any]]()
    for at, item in enumerate(data):
        reply = ("ABCD", "FGHJ")[at % 2][item.answer or 0]
        one = _sample(_doc(item), [], [], target=reply)
        samples.append(one | {"resps": [[reply]], "filtered_resps": [reply]})
    with pytest.raises(FormatError, match=r":2: 6 of 12 labels, such as 'G', are letters beyond"):
        answers.read(write_jsonl(tmp_path / "m" / "samples_x.jsonl", samples), data)
