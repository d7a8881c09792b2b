"""All commands read all sources of models' answers, by the same rules."""

import io
import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.answers.items import DATA, KEYS, LETTERS, read_choices, write_jsonl, write_text
from winosmith import Dataset, Problem, answers, formats
from winosmith.cli import main
from winosmith.errors import FormatError
from winosmith.testing import make_twins

Said = Sequence[int | str | None]
"""Index of the chosen option of each item; "?" is an invalid answer, None an item not asked."""


def _reply(said: int | str, invalid: str = "E") -> str:
    return invalid if isinstance(said, str) else LETTERS[said]


def _get_asked(said: Said) -> list[tuple[Problem, int | str]]:
    return [(p, one) for p, one in zip(DATA, said, strict=True) if one is not None]


def _make_doc(problem: Problem) -> dict[str, Any]:
    return {
        "id": problem.id,
        "question": problem.sentence,
        "options": [*problem.options],
        "answer": LETTERS[problem.answer or 0],
    }


def _make_sample(problem: Problem, replies: Sequence[Any], **more: Any) -> dict[str, Any]:
    """Return a sample of lm-evaluation-harness, with generated text."""
    return {
        "doc": _make_doc(problem),
        "target": LETTERS[problem.answer or 0],
        "resps": [replies],
        "filtered_resps": [*replies],
        **more,
    }


def _make_scored(problem: Problem, scores: Sequence[object], **more: Any) -> dict[str, Any]:
    """Return a sample of a multiple-choice task of lm-eval, with a score for each letter."""
    requests = {f"gen_args_{n}": {"arg_0": "?", "arg_1": f" {LETTERS[n]}"} for n in range(4)}
    replies = [[str(score), "False"] for score in scores]
    return _make_sample(problem, replies, arguments=requests, **more)


def _make_scores(said: int | str) -> list[float]:
    return [float("nan")] * 4 if isinstance(said, str) else [-1.0 * (n != said) for n in range(4)]


def _make_inspect(problem: Problem, said: int | str, **more: Any) -> dict[str, Any]:
    """Return a sample of inspect_ai."""
    score = {"value": "CI"[said != problem.answer], "answer": _reply(said, "")}
    return {
        "id": problem.id,
        "epoch": 1,
        "input": problem.sentence,
        "choices": [*problem.options],
        "target": LETTERS[problem.answer or 0],
        "scores": {"choice": score},
        **more,
    }


def _write_log(path: Path, samples: Sequence[Mapping[str, Any]], **more: Any) -> Path:
    head = {"model": "m", "dataset": {"samples": len(samples)}, "config": {}}
    return write_text(path, json.dumps({"eval": head, "samples": samples, **more}))


def _make_prompt(problem: Problem) -> str:
    """Return a prompt with the item after an example; options are in reverse order."""
    asked = [problem] if problem is DATA[3] else [DATA[3], problem]  # an example before it
    return "\n".join(
        f"{one.sentence}\n"
        + "\n".join(f"{LETTERS[at]}. {text}" for at, text in enumerate(one.options[::-1]))
        for one in asked
    )


def _make_event(problem: Problem, said: int | str) -> dict[str, Any]:
    """Return an event of OpenAI evals."""
    sampled = said if isinstance(said, str) else LETTERS[3 - said]
    own = {"sampled": sampled, "expected": LETTERS[3 - (problem.answer or 0)],
           "correct": said == problem.answer, "prompt": _make_prompt(problem)}  # fmt: skip
    return {"sample_id": f"quiz.{problem.id}", "type": "match", "data": own}


def _write_helm_state(path: Path, said: Said, *, joint: bool) -> Path:
    """Write a scenario state of HELM, with one request per item (`joint`) or per option."""
    states = []
    for problem, one in _get_asked(said):
        references = [
            {"output": {"text": text}, "tags": ["correct"] * (at == problem.answer)}
            for at, text in enumerate(problem.options)
        ]
        instance = {"id": f"id{problem.id}", "input": {"text": problem.sentence},
                    "references": references}  # fmt: skip
        mapping = dict(zip(LETTERS, problem.options[::-1], strict=True))
        replies: list[dict[str, Any]] = [
            {"output_mapping": mapping,
             "result": {"success": True, "completions": [
                 {"text": f" {one if isinstance(one, str) else LETTERS[3 - one]}"}]}}
        ]  # fmt: skip
        if not joint:
            replies = [
                {"reference_index": at, "request_mode": mode,
                 "result": {"success": True, "completions": [
                     {"text": "", "logprob": -9.0 if mode == "calibration" else score - 9}]}}
                for at, score in enumerate(_make_scores(one))
                for mode in ("original", "calibration")
            ]  # fmt: skip
        states += [{"instance": instance, "train_trial_index": 0, **reply} for reply in replies]
    record = {"adapter_spec": {"model": "m"}, "request_states": states}
    return write_text(path / "scenario_state.json", json.dumps(record))


SOURCES: dict[str, Callable[[Path, Said], Path]] = {
    "list": lambda path, said: write_text(
        path / "m.lst", "".join(f"{_reply(one)}\n" for _, one in _get_asked(said))
    ),
    "array": lambda path, said: write_text(
        path / "m.json", json.dumps([_reply(one) for _, one in _get_asked(said)])
    ),
    "table of letters": lambda path, said: write_text(
        path / "t.csv",
        "id,m\n"
        + "".join(
            f"{p.id},{'' if one is None else _reply(one, '[invalid]')}\n"
            for p, one in zip(DATA, said, strict=True)
        ),
    ),
    "table of numbers": lambda path, said: write_text(
        path / "m.tsv",
        "note\tqID\tprediction\n"
        + "".join(
            f"x\t{p.id}\t{9 if one == '?' else int(one) + 1}.0\n" for p, one in _get_asked(said)
        ),
    ),
    "answers by id": lambda path, said: write_text(
        path / "m.json", json.dumps({p.id: _reply(one, "I think B") for p, one in _get_asked(said)})
    ),
    "predictions": lambda path, said: write_jsonl(
        path / "m.jsonl",
        ({"id": p.id, "choice": None if one == "?" else one} for p, one in _get_asked(said)),
    ),
    "lm-eval, generated": lambda path, said: write_jsonl(
        path / "m" / "samples_quiz_1.jsonl",
        (_make_sample(p, [_reply(one, "[invalid]")]) for p, one in _get_asked(said)),
    ),
    "lm-eval, scored": lambda path, said: write_jsonl(
        path / "m" / "samples_quiz_1.jsonl",
        (_make_scored(p, _make_scores(one)) for p, one in _get_asked(said)),
    ),
    "inspect_ai": lambda path, said: _write_log(
        path / "log.json", [_make_inspect(p, one) for p, one in _get_asked(said)]
    ),
    "HELM, joint": lambda path, said: _write_helm_state(path, said, joint=True),
    "HELM, separate": lambda path, said: _write_helm_state(path, said, joint=False),
    "OpenAI evals": lambda path, said: write_jsonl(
        path / "log.jsonl",
        [
            {"spec": {"completion_fns": ["m"]}},
            *(_make_event(p, one) for p, one in _get_asked(said)),
            {"final_report": {"accuracy": 1.0}},
        ],
    ),
}
"""Functions that write one model's answers in the format of each source."""

WITH_MISSING = [name for name in SOURCES if name not in ("list", "array")]
"""Sources with missing answers. A list must be complete, as its rows have no ids."""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    formats.write(DATA, tmp_path / "quiz.jsonl")
    return tmp_path / "quiz.jsonl"


def _run(command: str, data: Path, *args: object) -> Any:
    """Return a command's JSON, or its error message."""
    first = ["audit", data, "--no-probes", "--draws", "19", "--answers"]
    words = [*(first if command == "audit" else [command, data]), *args, "--json"]
    code, out, err = _run_cli(*words)
    return json.loads(out) if code == 0 else " ".join(err.split())


def _run_cli(*words: object) -> tuple[int, str, str]:
    """Return a command's exit code, standard output and standard error."""
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        code = main([str(word) for word in words])
    return code, out.getvalue(), err.getvalue()


def _score(data: Path, *args: object) -> dict[str, Any]:
    """Return the scores of the only model."""
    found = _run("score", data, *args)
    assert isinstance(found, dict), found
    (one,) = found["solvers"].values()
    return one  # type: ignore[no-any-return]


def _audit(data: Path, *args: object) -> dict[str, Any]:
    found = _run("audit", data, *args)
    assert isinstance(found, dict), found
    (one,) = found["splits"]["quiz"]["answers"]["models"].values()
    return one  # type: ignore[no-any-return]


def _read(path: Path, **how: Any) -> answers.Answers:
    (one,) = answers.read(path, DATA, **how).values()
    return one


@pytest.mark.parametrize("source", SOURCES)
def test_perfect_model_scores_100_percent_from_every_source(source, data, tmp_path):
    """A letter counts as a letter, even if the text of an option is another letter."""
    path = SOURCES[source](tmp_path, KEYS)
    accuracy = _score(data, path)["accuracy"]
    assert (accuracy["correct"], accuracy["n"]) == (12, 12)


@pytest.mark.parametrize("source", SOURCES)
def test_invalid_answer_counts_as_incorrect_in_every_command(source, data, tmp_path):
    path = SOURCES[source](tmp_path, ["?", *KEYS[1:]])
    for more in ([], ["--partial"]):
        found = _score(data, path, *more)
        assert (found["accuracy"]["correct"], found["accuracy"]["n"]) == (11, 12)
        assert (found["invalid"], found["missing"], found["possible"]) == (1, 0, None)
    perfect = write_jsonl(tmp_path / "p.jsonl", ({"id": p.id, "choice": p.answer} for p in DATA))
    compared = _run("compare", data, perfect, path)
    assert [of["correct"] for of in compared["accuracies"].values()] == [12, 11]
    assert [*compared["invalid"].values()] == [1]
    audited = _audit(data, path)
    assert (audited["right"], audited["answered"], audited["invalid"]) == (11 / 12, 12, 1)


@pytest.mark.parametrize("source", WITH_MISSING)
def test_missing_answer_needs_partial_in_every_command(source, data, tmp_path):
    """`score --partial` shows the lowest and highest possible accuracy."""
    path = SOURCES[source](tmp_path, [None, *KEYS[1:]])
    refused = _run("score", data, path)
    assert "1 of 12 problems have no prediction ('q0')" in refused
    assert "another data set" not in refused
    found = _score(data, path, "--partial")
    assert (found["accuracy"]["correct"], found["accuracy"]["n"]) == (11, 11)
    assert (found["invalid"], found["missing"]) == (0, 1)
    assert found["possible"] == [11 / 12, 1.0]
    other = write_jsonl(tmp_path / "p.jsonl", ({"id": p.id, "choice": p.answer} for p in DATA[:-1]))
    compared = _run("compare", data, other, path, "--partial")
    assert [of["n"] for of in compared["accuracies"].values()] == [10, 10]
    assert [*compared["missing"].values()] == [2, 2]
    assert _audit(data, path)["answered"] == 11


def test_missing_and_invalid_answers_are_reported_per_model(data, tmp_path):
    path = write_text(tmp_path / "t.csv", "id,a,b\n" + "".join(
        f"{p.id},{LETTERS[key]},{'' if at < 3 else 'E' if at < 5 else LETTERS[key]}\n"
        for at, (p, key) in enumerate(zip(DATA, KEYS, strict=True))))  # fmt: skip
    _, scores, _ = _run_cli("score", data, path, "--partial")
    assert "b: possible accuracy with missing answers: 58.3–83.3 %" in " ".join(scores.split())
    assert "a: possible accuracy" not in scores
    _, compared, _ = _run_cli("compare", data, path, "--partial")
    rows = [line.split()[:5] for line in compared.splitlines() if line[:2] in ("A ", "B ")][:2]
    assert rows == [["A", "a", "3", "0", "9"], ["B", "b", "3", "2", "7"]]
    more = ["--switched", path, "--switched-data", data]
    whole = write_text(tmp_path / "m.lst", "A\n" * 12)
    path.write_text(path.read_text("utf-8").replace(",\n", ",E\n"), "utf-8")
    other = "the solvers of --switched ('a', 'b') don't match those of PREDICTIONS ('m')"
    assert other in _run("score", data, whole, *more)


def test_switched_predictions_are_paired_by_model_name(tmp_path):
    """The two tables have their models in different orders."""
    data, switched = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    items = [
        Problem(f"q{at}", f"After rain the _ on map {at} was wet.", ("road", "roof"), at % 2)
        for at in range(8)
    ]
    formats.write(items, data)
    formats.write([replace(p, answer=1 - (p.answer or 0)) for p in items], switched)
    one = write_text(tmp_path / "1.csv", "id,x,y\n" + "".join(
        f"{p.id},{LETTERS[p.answer or 0]},A\n" for p in items))  # fmt: skip
    two = write_text(tmp_path / "2.csv", "id,y,x\n" + "".join(
        f"{p.id},A,{LETTERS[1 - (p.answer or 0)]}\n" for p in items))  # fmt: skip
    found = _run("score", data, one, "--switched", two, "--switched-data", switched)
    assert isinstance(found, dict), found
    shares = {name: of["consistent"]["value"] for name, of in found["switched"].items()}
    assert shares == {"x": 1.0, "y": 0.0}


def test_option_columns_of_a_table_are_not_models(data, tmp_path):
    """A column that can't be read is named in the error."""
    rows = [[p.id, *p.options, LETTERS[key]] for p, key in zip(DATA, KEYS, strict=True)]
    path = tmp_path / "t.csv"
    pd.DataFrame(rows, columns=["id", "A", "B", "C", "D", "m"]).to_csv(path, index=False)
    assert [*answers.read(path, DATA)] == ["m"]
    folds = [[p.id, at % 3, 1] for at, p in enumerate(DATA)]
    pd.DataFrame(folds, columns=["id", "team", "m"]).to_csv(path, index=False)
    with pytest.raises(FormatError, match="the column 'team': 'q0': 0 is not a label"):
        answers.read(path, DATA)


def test_model_with_only_invalid_answers_is_accepted(tmp_path):
    rows = [_make_sample(p, ["[invalid]"]) for p in DATA]
    (found,) = answers.read(
        write_jsonl(tmp_path / "m" / "samples_quiz_1.jsonl", rows), DATA
    ).values()
    assert [one.choice for one in found.predictions] == [None] * 12


def test_integer_ids_read_as_floats_match_integer_ids(tmp_path):
    """Pandas stores a column of numeric ids as floats."""
    rows = [{"id": at, "question": f"Is it {at}?", "choices": ["a", "b"], "answer": at % 2}
            for at in range(6)]  # fmt: skip
    table = pd.DataFrame(rows).astype({"id": float})
    said = pd.DataFrame({"id": table["id"], "m": ["A", "B"] * 3})
    items = formats.read(table)
    assert items.ids == formats.read(write_jsonl(tmp_path / "d.jsonl", rows)).ids
    assert read_choices(said, items)["m"] == [0, 1] * 3
    ids = [f"{row['id']}.0" for row in rows]
    for path in (
        write_text(tmp_path / "m.csv", "".join(["id,m\n", *map("{},{}\n".format, ids, "ABABAB")])),
        write_text(tmp_path / "m.json", json.dumps(dict(zip(ids, "ABABAB", strict=True)))),
        write_jsonl(tmp_path / "m.jsonl", [{"id": at, "choice": at % 2} for at in range(6)]),
    ):
        assert {n: p.choice for n, p in answers.read(path, items)["m"].by_id.items()} == {
            str(at): at % 2 for at in range(6)
        }
    for other in ("01", "1.0"):
        path = write_text(tmp_path / "m.json", f'{{"1": "A", "2": "A", "{other}": "B"}}')
        with pytest.raises(FormatError, match="row 3: the id '1' occurs twice"):
            answers.read(path, items)
    several = Dataset(replace(items[0], id=name) for name in ("1", "1.0"))
    path = write_text(tmp_path / "m.csv", "id,m\n1,A\n1.0,B\n")
    assert answers.read(path, several)["m"].by_id.keys() == {"1", "1.0"}


def test_long_id_of_zeros_is_read_in_linear_time(tmp_path):
    """In quadratic time, it would take longer than a test's time limit."""
    said = {"q0": "A", f"{'0' * 2_000_000}x": "B"}
    path = write_text(tmp_path / "m.json", json.dumps(said))
    assert answers.read(path, DATA)["m"].by_id["q0"].choice == 0


def test_na_values_of_r_excel_and_pandas_are_missing_answers(tmp_path):
    for missing in ("", "NaN", "<NA>", "NA", "#N/A"):
        said = [missing, *(LETTERS[key] for key in KEYS[1:])]
        path = write_text(tmp_path / "m.csv", "id,m\n" + "".join(
            f"{p.id},{one}\n" for p, one in zip(DATA, said, strict=True)))  # fmt: skip
        assert len(answers.read(path, DATA)["m"].predictions) == 11
        if missing:  # an empty line is not a label
            path = write_text(tmp_path / "m.lst", "\n".join(said[::-1]))
            assert len(answers.read(path, DATA)["m"].predictions) == 11
    path = write_text(tmp_path / "m.json", json.dumps([None, *said[1:]]))
    assert len(answers.read(path, DATA)["m"].predictions) == 11


def test_option_text_matches_with_full_stop_and_if_it_is_na(tmp_path):
    """COPA's options have lost their full stops; NA may be Namibia."""
    items = Dataset(
        Problem(f"q{at}", f"Which {at}?", ("DE", "NA"), 1, blank=None) for at in range(3)
    )
    path = write_text(tmp_path / "m.csv", "id,m\nq0,NA\nq1,De.\nq2,NaN\n")
    assert read_choices(path, items)["m"] == [1, 0]
    countries = Dataset([replace(items[0], id="NA"), *items])
    path.write_text("id,m\nNA,NA\nq0,DE\n,\n<NA>,NaN\nq1,DE\nq2,DE\n")
    found = answers.read(path, countries)["m"].by_id
    assert {name: one.choice for name, one in found.items()} == {"NA": 1, "q0": 0, "q1": 0, "q2": 0}


def test_json_booleans_match_options_and_choice_may_be_a_letter(tmp_path):
    items = Dataset(
        Problem(f"q{at}", f"Is {at} odd?", ("True", "False"), 0, blank=None) for at in range(3)
    )
    for said in ('{"q0": true, "q1": false, "q2": true}', "[true, false, true]"):
        path = write_text(tmp_path / "m.json", said)
        assert read_choices(path, items)["m"] == [0, 1, 0]
    rows = [{"id": f"q{at}", "choice": "B" if at else None} for at in range(3)]
    path = write_jsonl(tmp_path / "m.jsonl", rows)
    assert read_choices(path, items)["m"] == [1, 1]


def test_tied_scores_earn_partial_credit_in_every_source(data, tmp_path):
    """A tie of two options counts one half. The log's own `acc` is also reported."""
    scores = [[-1.0 * (n not in (key, (key + at % 2) % 4)) for n in range(4)]
              for at, key in enumerate(KEYS)]  # fmt: skip
    paths = [
        write_jsonl(
            tmp_path / "m" / "samples_quiz_1.jsonl",
            (_make_scored(p, own, acc=float(at % 3 > 0)) for at, (p, own) in
             enumerate(zip(DATA, scores, strict=True))),
        ),
        write_jsonl(tmp_path / "ours.jsonl",
               ({"id": p.id, "scores": own} for p, own in zip(DATA, scores, strict=True))),
        write_text(tmp_path / "l.lst", "".join(
            f"{LETTERS[key]};[{' '.join(map(str, own))}]\n"
            for key, own in zip(KEYS, scores, strict=True))),
        write_text(tmp_path / "t.csv", "id,choice,score2,score1,score3,score4\n" + "".join(
            f"{p.id},{LETTERS[key]},{own[1]},{own[0]},{own[2]},{own[3]}\n"
            for p, key, own in zip(DATA, KEYS, scores, strict=True))),
        write_text(tmp_path / "s.csv", "id,score1,score2,score3,score4\n" + "".join(
            f"{p.id},{','.join(map(str, own))}\n"
            for p, own in zip(DATA, scores, strict=True))),
        tmp_path / "s.parquet",
    ]  # fmt: skip
    pd.DataFrame({"id": DATA.ids, "scores": scores}).to_parquet(paths[-1])
    for path in paths:
        found = _score(data, path)
        assert (found["accuracy"]["correct"], found["accuracy"]["ties"]) == (9, 6)
        assert _audit(data, path)["right"] == 9 / 12
    assert _score(data, paths[0])["log"]["reported"] == {"acc": pytest.approx(8 / 12)}


def test_first_filter_of_a_log_is_used_by_default(data, tmp_path):
    """It is not the filter with the best results. `--filter` selects another."""
    path = write_jsonl(
        tmp_path / "m" / "samples_quiz_1.jsonl",
        (
            _make_sample(p, ["[invalid]" if name == "strict" and at > 3 else LETTERS[KEYS[at]]],
                    filter=name, exact_match=float(name != "strict" or at < 4))
            for at, p in enumerate(DATA)
            for name in ("strict", "flexible")
        ),
    )  # fmt: skip
    for more, right, used in (([], 4, "strict"), (["--filter", "flexible"], 12, "flexible")):
        found = _score(data, path, *more)
        assert (found["accuracy"]["correct"], found["accuracy"]["n"]) == (right, 12)
        assert (found["log"]["filter"], found["log"]["filters"]) == (used, ["strict", "flexible"])
        assert found["log"]["reported"] == {"exact_match": pytest.approx(right / 12)}
        assert _audit(data, path, *more)["log"]["filter"] == used
    assert "name one of 'strict', 'flexible'" in _run("score", data, path, "--filter", "x")


def test_helm_trial_with_the_lowest_number_is_read(data, tmp_path):
    """The order of the requests in the file does not matter."""
    read = [
        json.loads(_write_helm_state(tmp_path, said, joint=True).read_text("utf-8"))
        for said in ([(key + 1) % 4 for key in KEYS], KEYS)
    ]
    wrong, right = (one["request_states"] for one in read)
    states = [{**one, "train_trial_index": n} for n in (10, 2) for one in wrong]
    states += [{**one, "train_trial_index": 1} for one in right]
    path = write_text(
        tmp_path / "scenario_state.json", json.dumps(read[0] | {"request_states": states})
    )
    found = _score(data, path)
    assert (found["log"]["filter"], found["accuracy"]["correct"]) == ("trial 1", 12)


def test_first_epoch_and_scorer_are_read_by_default(tmp_path):
    wrong = {"value": "I", "answer": "E"}
    samples = [
        _make_inspect(p, key if epoch == 1 else "?", epoch=epoch)
        for epoch in (1, 2)
        for p, key in zip(DATA, KEYS, strict=True)
    ]
    path = _write_log(tmp_path / "log.json", samples)
    assert _read(path).log.filter == "epoch 1"
    with pytest.raises(FormatError, match=r"no answer of .epoch 2. can be read"):
        _read(path, filters=["2"])
    for sample in samples:
        sample["scores"]["strict"] = wrong
    path = _write_log(tmp_path / "log.json", samples)
    assert _read(path).log.filter == "epoch 1, choice"


def _duplicate_row(path: Path) -> None:
    text = path.read_text("utf-8")
    if path.name == "scenario_state.json" or path.name == "log.json":
        record = json.loads(text)
        rows = record.get("samples", record.get("request_states"))
        rows.append(rows[1])
        path.write_text(json.dumps(record), "utf-8")
    else:
        row = next(line for line in text.splitlines()[1:] if "q5" in line or "map 5" in line)
        path.write_text(f"{text}{row}\n", "utf-8")


@pytest.mark.parametrize("source", [one for one in WITH_MISSING if one != "answers by id"])
def test_several_rows_of_one_item_are_refused(source, data, tmp_path):
    """The error shows the number of rows or the id. No row is chosen, and none are merged."""
    path = SOURCES[source](tmp_path, KEYS)
    _duplicate_row(path)
    for command in ("score", "audit"):
        refused = _run(command, data, path)
        assert any(
            f"/{path.name}{why}" in refused
            for why in (
                ": items such as ",
                ":14: the id 'q5' occurs twice",
                ":13: the id 'q5' already",
            )
        )


LOGS = [name for name in SOURCES if name.startswith(("lm", "in", "HELM", "Open"))]


@pytest.mark.parametrize("source", LOGS)
def test_log_is_matched_whatever_the_order_of_items_and_options(source, tmp_path):
    """The items also have other ids than in the log."""
    said = [(key + at % 3) % 4 for at, key in enumerate(KEYS)]
    path = SOURCES[source](tmp_path, [*said[:11], "?"])
    turned = Dataset(
        replace(p, id=f"n{p.id}", options=p.options[::-1], answer=3 - (p.answer or 0))
        for p in reversed(DATA.problems)
    )
    (found,) = answers.read(path, turned).values()
    chosen = {p.id: found.by_id[f"n{p.id}"].choice for p in DATA}
    assert chosen == {p.id: 3 - at for p, at in zip(DATA, said[:11], strict=False)} | {"q11": None}


@pytest.mark.parametrize(("keys", "read"), [("АБВГ", None), ("ABCD", 0)])
def test_letters_are_read_in_the_script_of_the_log(keys, read, tmp_path):
    """В is the third letter, not the option "В", exactly if the log's letters are Cyrillic."""
    items = Dataset(
        Problem(f"q{at}", f"Which sign is on map {at}?", options, 0, blank=None)
        for at, options in enumerate([("В", "А"), ("a well", "a mill"), ("a fort", "a ford")])
    )
    rows = [_make_sample(p, [keys[0] if at else "В"], target=keys[0]) for at, p in enumerate(items)]
    path = write_jsonl(tmp_path / "m" / "samples_quiz_1.jsonl", rows)
    assert [*read_choices(path, items).values()] == [[read, 0, 0]]


@pytest.mark.parametrize("keys", ["ABCD", "0123", "1234"])
@pytest.mark.parametrize("replies", ["0123", "1234"])
def test_replies_may_be_numbered_differently_from_the_keys(tmp_path, keys, replies):
    """Replies from 1 to 4 count from 1, even if the log's keys are letters or count from 0.

    90 % of the readable replies decide the kind.
    """
    rows = [
        _make_sample(p, [replies[key] if at % 4 else "I can't"], target=keys[key])
        for at, (p, key) in enumerate(zip(DATA, KEYS, strict=True))
    ]
    path = write_jsonl(tmp_path / "m" / "samples_quiz_1.jsonl", rows)
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        (found,) = answers.read(path, DATA).values()
    expected = [key if at % 4 else None for at, key in enumerate(KEYS)]
    assert [one.choice for one in found.predictions] == expected
    assert len(notes) == (keys != replies)


def test_null_reply_is_invalid_even_if_an_option_is_none(tmp_path):
    items = Dataset(
        Problem(f"q{at}", f"What is on map {at}?", ("None", "A well"), 0, blank=None)
        for at in range(4)
    )
    rows = [_make_sample(p, [None if at else "A"]) for at, p in enumerate(items)]
    (found,) = answers.read(
        write_jsonl(tmp_path / "m" / "samples_quiz_1.jsonl", rows), items
    ).values()
    assert [one.choice for one in found.predictions] == [0, None, None, None]


def test_table_of_answers_is_read_from_every_container(tmp_path):
    table = pd.DataFrame({"id": DATA.ids, "m": [LETTERS[key] for key in KEYS]})
    table.loc[0, "m"] = None
    table.to_csv(tmp_path / "a.csv")
    table.to_csv(tmp_path / "b.csv.gz", sep=";", index=False)
    table.to_json(tmp_path / "c.json", orient="records")
    table.to_json(tmp_path / "d.jsonl", orient="records", lines=True)
    table.to_parquet(tmp_path / "e.parquet")
    for path in tmp_path.iterdir():
        assert [one.choice for one in _read(path).predictions] == KEYS[1:]


@pytest.mark.parametrize(("wrong", "below"), [(10, True), (0, False)])
def test_only_valid_answers_count_as_below_chance(wrong, below, data, tmp_path):
    items = make_twins(0, singles=40)
    formats.write(items, data)
    path = write_text(tmp_path / "t.csv", "id,m\n" + "".join(
        f"{p.id},{LETTERS[abs((p.answer or 0) - (at < wrong))] if at < 10 else 'E'}\n"
        for at, p in enumerate(items)))  # fmt: skip
    for found in (_score(data, path)["below_chance"], _audit(data, path).get("below_chance")):
        assert (found and (found["correct"], found["n"])) == ((0, 10) if below else None)
    for words in (["score", data], ["audit", data, "--no-probes", "--answers"]):
        _, shown, _ = _run_cli(*words, path)
        assert ("below chance: 0 of 10 valid answers" in " ".join(shown.split())) == below


@pytest.mark.parametrize("other", [(3,), (0, 1, 2, 5)])
def test_items_whose_key_differs_in_the_log_are_listed_by_id(other, data, tmp_path):
    """The key in the data, not the one in the log, is used for the score."""
    samples = [_make_sample(p, [LETTERS[KEYS[at]]], acc=float(at not in other))
               for at, p in enumerate(DATA)]  # fmt: skip
    for at in other:
        samples[at]["target"] = LETTERS[(KEYS[at] + 1) % 4]
    path = write_jsonl(tmp_path / "m" / "samples_quiz_1.jsonl", samples)
    found = _score(data, path)
    assert found["accuracy"]["correct"] == 12
    assert found["log"]["keys_differ"] == [f"q{at}" for at in other]
    assert "scores_differ" not in found["log"]
    assert _audit(data, path)["log"]["keys_differ"] == [f"q{at}" for at in other]
    _, shown, _ = _run_cli("score", data, path)
    count = f"{len(other)} item{'s' * (len(other) > 1)}"
    assert f"in {count} the log's key differs" in " ".join(shown.split())


def test_log_scores_that_contradict_the_answer_are_listed(data, tmp_path):
    """The log scores a reply as incorrect although it is the key; our score uses the reply."""
    samples = [_make_sample(p, [LETTERS[KEYS[at]]], exact_match=float(at != 4))
               for at, p in enumerate(DATA)]  # fmt: skip
    found = _score(data, write_jsonl(tmp_path / "m" / "samples_quiz_1.jsonl", samples))
    assert (found["accuracy"]["correct"], found["log"]["scores_differ"]) == (12, ["q4"])


@pytest.mark.parametrize(
    ("status", "said"),
    [
        ("cancelled", "the run was cancelled after 5 of 12"),
        ("error", "the run failed after 5 of 12"),
        ("success", "the log contains answers to only 5 of 12"),
    ],
)
def test_status_of_an_incomplete_log_is_reported(status, said, data, tmp_path):
    samples = [_make_inspect(p, KEYS[at]) for at, p in enumerate(DATA[:5])]
    head = {"model": "m", "dataset": {"samples": 12}}
    path = _write_log(tmp_path / "log.json", samples, eval=head, status=status)
    assert f"{said}; 7 of 12" in _run("score", data, path)
    found = _score(data, path, "--partial")
    assert (found["log"]["status"], found["accuracy"]["n"]) == (said, 5)
    assert found["possible"] == [5 / 12, 1.0]
    assert _audit(data, path)["log"]["status"] == said


@pytest.mark.parametrize("more", [[], ["--partial"]])
def test_list_of_another_length_is_refused_even_with_partial(more, data, tmp_path):
    for end in ("", ".0"):
        path = write_text(tmp_path / "m.lst", "".join(f"{key + 1}{end}\n" for key in KEYS))
        assert _score(data, path, *more)["accuracy"]["correct"] == 12
    path = write_text(tmp_path / "m.lst", "1\n" * 11)
    assert "the list has 11 labels, but there are 12" in _run("score", data, path, *more)


@pytest.mark.parametrize("known", [5, 7])
@pytest.mark.parametrize("source", ["table of letters", "answers by id", "lm-eval, generated"])
def test_error_suggests_another_data_set_if_under_half_match(source, known, data, tmp_path):
    path = SOURCES[source](tmp_path, KEYS)
    formats.write([*DATA[:known], *_others(12 - known)], data)
    shown = _run("score", data, path)
    if known == 5:
        assert "of an item" in shown
        assert "5 of 12" in shown
        assert "is this another data set?" in shown.lower()
        assert "--partial" not in shown
    else:
        assert "another data set" not in str(shown)


def _others(n: int) -> list[Problem]:
    return [Problem(f"x{at}", f"Who is {at}?", ("ann", "bob"), 0, blank=None) for at in range(n)]


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("m.csv", "id,m,m\nq0,A,B\n", "csv:1: the column 'm' occurs twice"),
        ("m.csv", "id,m\nq0,A\nq0,B\n", "csv:3: the id 'q0' occurs twice"),
        ("m.csv", "id,m\nq0,0\nq2,1\n", "csv:2: 'q0': 0 is not a label: options are numbered"),
        ("m.csv", "id,m\nq0,A,B\n", "m.csv:2: the row has 3 cells; the header has 2"),
        ("m.csv", "x,choice\nq0,A\n", "m.csv:1: the table has no column 'id'"),
        ("m.csv", "q0,A\nq1,B\n", "'q0' is an item's id: add a header line"),
        ("m.csv", "model,q0,q1\nm,A,B\n", "the columns are items; write one row per item"),
        ("m.csv", "id,gold,key\nq0,A,B\n", "'gold', 'key' are names of key columns: name each"),
        ("m.csv", "id,model,pred\nq0,m,A\nq0,,B\n", "m.csv:3: the row has no 'model'"),
        ("m.csv", "id,model,pred\nq0,m,A\nq0,m,B\n", "csv:3: the model 'm': the id 'q0' occurs"),
        ("m.csv", "id,model,x,y\nq0,m,A,A\nq0,n,B,A\n", "the model 'm': its answers may be in 'x'"),
        ("m.csv", "id,epoch,model,target,score\nq0,1,m,A,C\nq1,1,m,B,I\n",
         "the model 'm': all answers are C or I; write correct and incorrect if they are grades"),
        ("m.csv", 'id,score1,score2,score3,score4\nq0,"1,5",2,3,4\n', "a score is not a number"),
        ("m.csv", "id,m\nq0,I see\nq1,Why?\n", "no answer is an option letter"),
        ("m.csv", "id,m\nq0,C\nq1,I\n", "all answers are C or I; write correct and incorrect if"),
        ("m.json", '{"q0": "A", "x": "B", "y": "B"}', "1 of 3 keys of this object match the id of "
         "an item; 'x', 'y' do not. The items' ids are 'q0', 'q1', 'q2', …. Is this another data "
         "set? answers are read from a table"),
        ("m.json", '{"q0": 0, "q2": 1}', "'q0': 0 is not a label: options are numbered from 1"),
        ("m.json", '{"q0": "I see", "q1": null}', "no answer is an option letter"),
        ("m.json", '{"q0": "A", "q0": "B"}', "the key 'q0' occurs twice"),
        ("m.json", '{"question": "Who?"}\n{"question": "Why?"}\n', ":1: these are not answers"),
        ("m.json", '["A", "B"', "the list is not JSON"),
        ("m.csv", "id,score1,score2,score3,score4\nq0,1,2,,4\n",
         "m.csv:2: a score is empty, but a later score is not"),
        ("m.csv", "id,score0,score1,score2,score3\nq0,1,2,3,4\n",
         "columns are 'score0', 'score1', 'score2', …; number them from score1"),
        ("m.json", json.dumps([True] * 12), 'list must contain labels, such as 1 or "A", not t'),
        ("m.json", json.dumps([1, [2]] * 6), "row 2: the list must contain labels"),
        ("m.json", json.dumps([1, 2, 2.5] * 4), 'such as 1 or "A", not 2.5'),
        ("m.lst", "1\n?\nx y\nNo\n", ":2: '?' is not a label; write one label per line"),
        ("m.lst", "I say A\n" * 4, ":1: 'I say A' is not a label; write one label per line"),
        ("m.lst", "1;[ 0.5 abc ]\n", ":1: the scores ' 0.5 abc ' are not numbers"),
        ("m.lst", "1,2,1,1,2\n" * 12, ":1: the line has several labels, as in a leaderboard"),
        ("m.lst", "1;[1 2 3]\n" + "1\n" * 11, ":1: the 3 scores of 'q0' don't match 4"),
    ],
)  # fmt: skip
def test_ambiguous_answers_are_refused(file, text, message, data, tmp_path):
    path = write_text(tmp_path / file, text)
    for command in ("score", "audit"):
        assert " ".join(message.split()) in _run(command, data, path)


@pytest.mark.parametrize("marks", ["CIP", "CCC", "CNI"])
def test_grades_of_an_inspect_scorer_are_not_read_as_letters(marks, data, tmp_path):
    """C, for "correct", would be the third option."""
    samples = [
        _make_inspect(p, 0, scores={"s": {"value": marks[at % 3], "answer": marks[at % 3]}})
        for at, p in enumerate(DATA)
    ]
    for command in ("score", "audit"):
        refused = _run(command, data, _write_log(tmp_path / "log.json", samples))
        assert "the answers of the scorer 's' are grades, such as C and I" in refused
