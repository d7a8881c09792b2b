"""Tables of answers: wide and long layouts, grades, keys and ids."""

import json
import re
import warnings
from dataclasses import replace
from unicodedata import normalize

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.answers.items import (
    DATA,
    KEYS,
    LETTERS,
    make_source,
    read_choices,
    write_jsonl,
    write_text,
)
from winosmith import Dataset, Problem, answers, formats, metrics
from winosmith.errors import DataError, FormatError


def test_number_that_is_another_options_text_is_refused(tmp_path):
    """Here, "1" may mean the first option or the last, but "2" is the second in both ways."""
    items = Dataset([Problem("q", "How many?", ("3", "2", "1"), 0, blank=None)])
    path = write_text(tmp_path / "gpt.json", '{"q": "1"}')
    with pytest.raises(FormatError, match="may mean option 1 or the text of option 3"):
        answers.read(path, items)
    assert answers.read(write_text(path, '{"q": "2"}'), items)["gpt"].predictions[0].choice == 1


def test_columns_without_answers_are_omitted_with_a_note(tmp_path):
    path = write_text(tmp_path / "t.csv", "id\tgold\tm\tasked\nq0\tA\tB\tWho?\nq1\tA\tA\tWhy?\n")
    with pytest.warns(formats.ReadingNote) as notes:
        assert [*answers.read(path, DATA)] == ["m"]
    assert [str(note.message).split(": ")[-1] for note in notes] == [
        "the column 'asked' contains no option's letter, not a model's answers; it is omitted",
        "the column 'gold' has keys, not a model's answers; it is omitted",
    ]
    rows = [f"{at},{p.id},{at % 2},{0.5 + at},C" for at, p in enumerate(DATA)]
    path = write_text(tmp_path / "n.csv", "\n".join(["Unnamed: 0,id,correct,time,m", *rows]))
    with pytest.warns(formats.ReadingNote) as notes:
        (found,) = answers.read(path, DATA).values()
    assert (found.solver, {one.choice for one in found.predictions}) == ("m", {2})
    assert [str(note.message).split("column ")[-1] for note in notes] == [
        f"{name!r} has numbers (other columns have letters), not a model's answers; it is omitted"
        for name in ("correct", "time")
    ]
    path = write_text(tmp_path / "k.csv", "id,answer,m\nq0,B,2\nq1,A,2\n")
    with pytest.raises(FormatError, match="'answer' matches the key in every row, so it may"):
        answers.read(path, DATA)
    path.write_text(path.read_text("utf-8").replace(",m", ",rank"), "utf-8")
    assert read_choices(path)["k"] == [1, 0]


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("Ref", "'q0', 'q1', 'q2', … are in the data's column 'Ref': name it with `id='Ref'`"),
        ("id", "'q0', 'q1', 'q2', … do not. The items' ids are 'x0', 'x1', 'x2', …. Is this ano"),
        (None, "The items' ids are '0', '1', '2', …: if the data have a column of ids, name it"),
    ],
)
def test_column_that_contains_the_ids_is_suggested(name, advice):
    """If no column contains them, the message lists the ids of the items."""
    rows = [{"question": f"Who {at}?", "A": "x", "B": "y", "answer": "A"} for at in range(9)]
    start = "q" if name == "Ref" else "x"
    rows = [row | ({name: f"{start}{at}"} if name else {}) for at, row in enumerate(rows)]
    said = pd.DataFrame({"id": [f"q{at}" for at in range(9)], "m": "A"})
    with pytest.raises(FormatError, match=re.escape("only 0 of 9 rows match the id of an item; ")
                       + ".*" + re.escape(advice)):  # fmt: skip
        answers.read(said, rows)
    if name == "Ref":
        items = formats.to_dataset(formats.scan(rows, columns=formats.Columns(id=name)))
        assert len(answers.read(said, items)["m"].predictions) == len(rows)


@pytest.mark.parametrize(
    ("columns", "models"),
    [
        ({"gpt": "A" * 10, "llama": [at // 2 * 2 + 11 for at in range(10)]}, ["gpt", "llama"]),
        ({"__index_level_0__": "12" * 5, "llama": "AB" * 5, "Unnamed: 1": "12" * 5}, ["llama"]),
        ({"gpt": "12" * 5, "note": ["x", *[""] * 8, "c"]}, ["gpt"]),
        ({"gpt": "12" * 5, "note": ["see below", *[""] * 8, "A"], "time": range(10, 110, 10)},
         ["gpt", "note"]),
        ({"gpt": "12" * 5, "seconds": [at / 4 for at in range(10)]}, ["gpt"]),
        ({"row": range(1, 11), "gpt": "ABABABABA?"}, ["gpt"]),
        ({"row": range(1, 11), "gpt": "ABABABAB??"}, ["gpt"]),
        ({"gpt": "AB" * 5, "mark": "CICCICICCI"}, ["gpt"]),
        ({"gpt": "AB" * 5, "mark": "CPCCICICCP"}, ["gpt"]),
        ({"gpt": "AB" * 5, "mark": "10" * 5, "tries": "1231231231"}, ["gpt"]),
    ],
)  # fmt: skip
def test_numbers_are_answers_if_90_percent_are_options(columns, models):
    """The other column of the table has letters."""
    items = Dataset(
        Problem(f"q{at}", f"What is {at} + 10?", (f"{at + 10}", f"{at + 11}"), 0, blank=None)
        for at in range(10)
    )
    rows = zip(items.ids, *columns.values(), strict=True)
    lines = [",".join(map(str, row)) for row in (("id", *columns), *rows)]
    path = make_source("t.csv", "\n".join(lines))
    with warnings.catch_warnings(record=True, action="always") as notes:
        assert [*answers.read(path, items)] == models
    said = [str(one.message).split("'")[1] for one in notes if "is omitted" in str(one.message)]
    assert said == [name for name in columns if name not in models and not re.search("_|Un", name)]


@pytest.mark.parametrize("first", [0, 1])
def test_numbers_of_options_next_to_letters_are_refused(first):
    """The letters may be groups, and the numbers answers."""
    letters = [LETTERS[at % 3] for at in range(len(DATA))]
    table = pd.DataFrame({"id": DATA.ids, "llama": [key + first for key in KEYS], "team": letters})
    with pytest.raises(FormatError, match="'llama' has numbers, but 'team' has letters or texts"):
        answers.read(table, DATA)


def test_numbers_that_contradict_the_grades_are_refused():
    """Seconds would be the answers, and the grades omitted; a few other grades may be errors."""
    said = [(key + at // 6) % 4 for at, key in enumerate(KEYS)]
    grades = [int(one == key) for one, key in zip(said, KEYS, strict=True)]
    table = pd.DataFrame({"id": DATA.ids, "m": [one + 1 for one in said], "correct": grades})
    table.loc[0, "correct"] = 0
    assert [*read_choices(table).values()] == [said]
    table["m"] = [at % 3 + 1 for at in range(len(DATA))]
    with pytest.raises(FormatError, match="'m' contradict the grades in 'correct' in many rows"):
        answers.read(table, DATA)


def test_c_and_i_are_letters_of_nine_options():
    """With fewer options, they mean "correct" and "incorrect"."""
    options = tuple(f"mark {at}" for at in range(9))
    items = Dataset(Problem(f"q{at}", f"Which {at}?", options, 0, blank=None) for at in range(2))
    assert read_choices(make_source("m.csv", "id,m\nq0,C\nq1,I\n"), items)["m"] == [2, 8]


@pytest.mark.parametrize(
    ("model", "item", "answer", "write"),
    [
        ("model", "id", "prediction", lambda p, said: LETTERS[said]),
        ("Model Name", "Item ID", "response", lambda p, said: p.options[said]),
        ("solver", "question_id", "answer", lambda p, said: f"Answer: {LETTERS[said]}"),
        ("llm", "item", "Pred", lambda p, said: f'"{LETTERS[said].lower()}"'),
    ],
)
@pytest.mark.parametrize("container", ["csv", "jsonl", "table"])
def test_long_tables_are_read(model, item, answer, write, container, tmp_path):
    data = Dataset(DATA.problems[::2])
    said = {"a": KEYS[::2], "b": [(key + at % 3) % 4 for at, key in enumerate(KEYS[::2])]}
    rows = [
        {"time": 0.5, item: p.id, model: name, answer: write(p, own[at]), "gold": "A"}
        for at, p in enumerate(data)
        for name, own in said.items()
    ]
    table = pd.DataFrame(rows)
    path = tmp_path / f"m.{container}"
    if container == "csv":
        table.to_csv(path, index=False)
    elif container == "jsonl":
        write_jsonl(path, rows)
    with warnings.catch_warnings(action="ignore", category=formats.ReadingNote):
        found = answers.read(table if container == "table" else path, data)
    assert {name: [p.choice for p in of.predictions] for name, of in found.items()} == said


@pytest.mark.parametrize("marks", [("1", "0"), ("1.0", "0.0"), ("True", "False"), ("1,0", "0,0")])
def test_long_table_may_have_grades(marks):
    """An incorrect answer is read as a tie of all other options, so it is never correct."""
    rows = [
        f"{m};{p.id};{marks[at % 3 == n]}" for at, p in enumerate(DATA) for n, m in enumerate("ab")
    ]
    path = make_source("m.csv", "\n".join(["model;item;correct", *rows]))
    found = answers.read(path, DATA)
    for n, model in enumerate("ab"):
        right = [found[model].by_id[p.id].credit(p.answer) for p in DATA]
        assert right == [float(at % 3 != n) for at in range(12)]


def test_column_named_model_may_contain_answers(tmp_path):
    path = write_text(tmp_path / "m.csv", "id,human,model\nq0,A,B\nq1,C,D\n")
    found = {
        name: [p.choice for p in of.predictions] for name, of in answers.read(path, DATA).items()
    }
    assert found == {"human": [0, 2], "model": [1, 3]}
    path.write_text("id,human,model\nq0,A,B\nq1,C,B\n")
    with pytest.raises(FormatError, match="'model' has only 'B', which may be a name or an answer"):
        answers.read(path, DATA)


def test_model_name_may_be_a_letter_of_an_option():
    """Most cells of `model` aren't options, so all are names, whatever the order of the rows."""
    said = [("q0", "gpt", "A"), ("q2", "gpt", "B"), ("q4", "gpt", "C"), ("q6", "gpt", "D"),
            ("q0", "A", "B")]  # fmt: skip
    table = [dict(zip(("id", "model", "pick"), row, strict=True)) for row in said]
    for at in range(len(table)):
        found = answers.read(table[at:] + table[:at], DATA)
        choices = {name: {p.problem_id: p.choice for p in of.predictions}
                   for name, of in found.items()}  # fmt: skip
        assert choices == {"gpt": {"q0": 0, "q2": 1, "q4": 2, "q6": 3}, "A": {"q0": 1}}


def test_json_layouts_of_several_models_are_equivalent():
    said = {"a": [LETTERS[key] for key in KEYS], "b": list("ABC" * 4)}
    by_model = {name: dict(zip(DATA.ids, own, strict=True)) for name, own in said.items()}
    by_id = {name: {model: own[name] for model, own in by_model.items()} for name in DATA.ids}
    rows = [[name, model, of[name]] for model, of in by_model.items() for name in DATA.ids]
    long = dict(zip(("id", "model", "pred"), map(list, zip(*rows, strict=True)), strict=True))
    for given in (by_model, by_id, said, {"id": DATA.ids, **said}, long):
        found = answers.read(make_source("m.json", json.dumps(given)), DATA)
        assert {model: [LETTERS[p.choice or 0] for p in of.predictions]
                for model, of in found.items()} == said  # fmt: skip


def test_ids_may_be_an_unnamed_index_or_the_questions():
    letters = [LETTERS[key] for key in KEYS]
    table = pd.DataFrame({"m": letters}, index=list(DATA.ids))
    asked = pd.DataFrame({"question": [p.sentence for p in DATA], "m": letters})
    for given in (table, asked):
        assert read_choices(given)["m"] == KEYS
    assert formats.read(pd.DataFrame(
        {"question": ["Why?"], "choices": [["a", "b"]], "answer": ["A"]}, index=["x"]
    )).ids == ("x",)  # fmt: skip


@pytest.mark.parametrize("mark", [";", "\t"])
def test_scores_may_have_decimal_commas(mark):
    rows = [[p.id, *(f"{-0.53 - (at != key):.2f}".replace(".", ",") for at in range(4))]
            for p, key in zip(DATA, KEYS, strict=True)]  # fmt: skip
    head = ["id", *(f"score{n}" for n in range(1, 5))]
    path = make_source("m.csv", "\n".join(mark.join(row) for row in [head, *rows]))
    found = answers.read(path, DATA)["m"].predictions
    assert [one.choice for one in found] == KEYS
    assert found[0].scores[KEYS[0]] == -0.53


@pytest.mark.parametrize("letters", ["ABCD", "أبجد", "أبتث", "アイウエ", "イロハニ"])
def test_best_matching_alphabet_order_is_used(letters):
    """Arabic and Japanese letters have two orders; イ is second or first."""
    rows = (f"{name},{letters[key]}\n" for name, key in zip(DATA.ids, KEYS, strict=True))
    assert read_choices(make_source("m.csv", "id,m\n" + "".join(rows)))["m"] == KEYS


def test_answer_ids_from_1_are_refused_for_item_ids_from_0(tmp_path):
    """Each answer would belong to another item."""
    items = Dataset(replace(p, id=str(at)) for at, p in enumerate(DATA))
    path = write_text(tmp_path / "m.csv", "id,m\n" + "".join(f"{at + 1},A\n" for at in range(12)))
    with pytest.raises(FormatError, match="the answers' ids count from 1, but the data set's ids"):
        answers.read(path, items)
    path.write_text(path.read_text("utf-8").replace("12,A", "0,A"), "utf-8")
    assert len(answers.read(path, items)["m"].predictions) == 12
    path.write_text(path.read_text("utf-8").replace("\n0,A", "\n12,A"), "utf-8")
    with pytest.raises(FormatError, match="the answers' ids count from 1"):
        answers.read(path, Dataset(replace(p, id=f"{int(p.id):03}") for p in items))
    path.write_text("id,m\n" + "".join(f"q{at},A\n" for at in range(12)), "utf-8")
    with pytest.raises(FormatError, match="the answers' ids count from 0"):
        answers.read(path, Dataset(replace(p, id=f"Q{int(p.id) + 1}") for p in items))


@pytest.mark.parametrize(
    ("head", "column", "models"),
    [
        ("annotator", "ann bob " * 6, ["gpt", "llama"]),
        ("system", "v1 " * 12, ["gpt", "llama"]),
        ("response", "Hm. " * 12, ["gpt", "llama"]),
        ("flagged", "True False " * 6, ["gpt", "llama"]),
        ("is_correct", "true false " * 6, ["gpt", "llama"]),
    ],
)
def test_columns_about_the_items_are_omitted(head, column, models):
    cells = zip(DATA.ids, column.split(), KEYS, strict=True)
    rows = [f"{name},{cell},{LETTERS[key]},A" for name, cell, key in cells]
    path = make_source("m.csv", "\n".join([f"id,{head},gpt,llama", *rows]))
    with pytest.warns(formats.ReadingNote, match=f"{head!r} (contains no option|has grades)"):
        found = answers.read(path, DATA)
    assert [*found] == models
    assert [one.choice for one in found["gpt"].predictions] == KEYS


def test_grades_next_to_times_are_read():
    """Times aren't options, even if one is 1.0."""
    rows = [f"{name},{at / 2 + 0.5},{at % 2}" for at, name in enumerate(DATA.ids)]
    path = make_source("m.csv", "\n".join(["id,time,correct", *rows]))
    with pytest.warns(formats.ReadingNote, match="'time' has numbers .other columns have grades"):
        found = answers.read(path, DATA)["m"].by_id
    assert [found[p.id].credit(p.answer) for p in DATA] == [0.0, 1.0] * 6


def test_thousands_separators_are_not_decimal_commas():
    """An option's text takes precedence."""
    items = Dataset(
        Problem(name, f"How many {name}?", options, 0, blank=None)
        for name, options in (("1", ("1000", "1")), ("1000", ("1", "2")), ("x", ("2,0", "1,0")))
    )
    path = make_source("m.csv", "id;m\n1;1,000\n1,000;2\nx;2,0\n")
    found = answers.read(path, items)["m"].by_id
    assert [found[name].choice for name in ("1", "1,000", "x")] == [None, None, 0]


@pytest.mark.parametrize("answer", ["'d", "*a", "“b"])
def test_markup_on_one_side_is_not_removed(answer):
    assert read_choices(make_source("m.csv", f"id,m\nq0,{answer}\nq2,A\n"))["m"] == [None, 0]


def test_c_and_n_without_i_are_letters():
    """C means "correct" only if I, for "incorrect", occurs too."""
    assert read_choices(make_source("m.csv", "id,m\nq0,C\nq1,N\nq2,C\n"))["m"] == [2, None, 2]


def test_id_column_takes_precedence_over_the_index():
    """An index with duplicates is never the ids."""
    letters = [LETTERS[key] for key in KEYS]
    for index in ([f"row{at}" for at in range(12)], ["x"] * 12):
        table = pd.DataFrame({"qID": DATA.ids, "m": letters}, index=index)
        assert read_choices(table)["m"] == KEYS
    quiz = pd.DataFrame(
        {"question": ["Why?", "How?"], "choices": [["a", "b"]] * 2, "answer": ["A"] * 2}
    )
    assert len(formats.read(quiz.set_axis(["x", "x"]))) == 2


@pytest.mark.parametrize(
    ("other", "cells", "models"),
    [
        ("seconds", range(3, 15), ["m"]),
        ("correct", [0, 1] * 6, ["m"]),
        ("is_correct", [False, True] * 6, ["m"]),
        ("gpt", "ABCD" * 3, ["gpt"]),
    ],
)
def test_column_named_answer_may_contain_answers(other, cells, models):
    """It must differ from the keys, and no other column may have letters.

    The model is then named after the file.
    """
    wrong = [(key + (at + 1) % 2) % 4 for at, key in enumerate(KEYS)]
    rows = [f"{p.id},{LETTERS[said]},{cell}"
            for p, said, cell in zip(DATA, wrong, cells, strict=True)]  # fmt: skip
    path = make_source("m.csv", "\n".join([f"id,answer,{other}", *rows]))
    with warnings.catch_warnings(action="ignore", category=formats.ReadingNote):
        found = answers.read(path, DATA)
    assert [*found] == models
    if other != "gpt":
        assert [one.choice for one in found[models[0]].predictions] == wrong
        assert found[models[0]].log == answers.Log()
    if other == "seconds":
        right = {"id": DATA.ids, "answer": [LETTERS[key] for key in KEYS], other: cells}
        with pytest.warns(formats.ReadingNote, match="'seconds' has numbers"):
            found = answers.read(pd.DataFrame(right), DATA)
        assert [one.choice for one in found["table"].predictions] == KEYS


@pytest.mark.parametrize(
    ("head", "answer", "message"),
    [
        ("gpt", "ABCD", "'tries' has numbers, but 'gpt' has letters or texts"),
        ("gpt", "ABC?", "'tries' has numbers, but 'gpt' has letters or texts"),
        ("answer", "ABCD", "'tries' has numbers, but 'answer' has letters or texts"),
        ("answer", "1324", "'answer' may be a key or a model: name each column after its model"),
    ],
)
def test_numbers_that_may_be_answers_are_refused(head, answer, message):
    """Such as 1 to 3 tries or tokens, next to letters, or next to what may be keys."""
    rows = [f"{name},{(answer * 3)[at]},{at % 3 + 1}" for at, name in enumerate(DATA.ids)]
    path = make_source("m.csv", "\n".join([f"id,{head},tries", *rows]))
    with pytest.raises(FormatError, match=re.escape(message)):
        answers.read(path, DATA)


def test_columns_of_options_are_no_models_if_some_options_are_equal():
    """The text of the third option is then also that of the second."""
    data = Dataset(
        Problem(
            f"q{at}", f"Which {at}?", ("red", "blue", "blue" if at % 2 else "green"), 0, blank=None
        )
        for at in range(8)
    )
    rows = [f"{p.id},{','.join(p.options)},B" for p in data]
    path = make_source("m.csv", "\n".join(["id,x,y,z,gpt", *rows]))
    assert [*answers.read(path, data)] == ["gpt"]


@pytest.mark.parametrize("correct", [True, False])
@pytest.mark.parametrize("head", ["answer", "label", "gold"])
def test_keys_and_grades_next_to_a_prediction_are_compared(head, correct):
    """The log of a table lists differing keys, and grades that contradict the answers."""
    rows = [f"{p.id},{(key + (at < 2)) % 4},{LETTERS[key]},{correct or at > 0}"
            for at, (p, key) in enumerate(zip(DATA, KEYS, strict=True))]  # fmt: skip
    path = make_source("m.csv", "\n".join([f"id,{head},prediction,correct", *rows]))
    log = answers.read(path, DATA)["m"].log
    assert (log.keys_differ, log.keys_compared) == (("q0", "q1"), 12)
    assert log.scores_differ == (() if correct else ("q0",))


@pytest.mark.parametrize("head", ["gold", "target", "y_true", "gold_answer", "answer"])
def test_keys_in_a_table_are_compared_with_the_data(head):
    """As in a log, differing items are listed, and the keys of the data count."""
    rows = [f"{p.id},{LETTERS[(key + (at < 2)) % 4]},{LETTERS[key]}"
            for at, (p, key) in enumerate(zip(DATA, KEYS, strict=True))]  # fmt: skip
    path = make_source("m.csv", "\n".join([f"id,{head},gpt", *rows]))
    with pytest.warns(formats.ReadingNote, match=f"{head!r} has keys"):
        found = answers.read(path, DATA)["gpt"]
    assert [one.choice for one in found.predictions] == KEYS
    assert (found.log.keys_differ, found.log.keys_compared) == (("q0", "q1"), 12)


def test_answers_inside_a_run_object_are_read():
    letters = [LETTERS[key] for key in KEYS]
    by_id = dict(zip(DATA.ids, letters, strict=True))
    records = [{"id": name, "answer": letter} for name, letter in by_id.items()]
    for own in (by_id, records, letters):
        for key in ("answers", "predictions", "results"):
            log = {"model": "gpt", "date": "2026-01-01", key: own}
            found = answers.read(make_source("m.json", json.dumps(log)), DATA)
            assert [one.choice for one in found["gpt"].predictions] == KEYS
    found = answers.read(make_source("m.json", json.dumps({"results": records})), DATA)
    assert [one.choice for one in next(iter(found.values())).predictions] == KEYS


def test_ids_may_differ_in_case_or_unicode_form():
    """The columns `variable` and `value` are those of pandas' `melt`."""
    table = pd.DataFrame({"id": [name.upper() for name in DATA.ids]})
    table = table.assign(gpt=[LETTERS[key] for key in KEYS], llama="A").melt(id_vars="id")
    found = answers.read(table, DATA)
    assert [one.choice for one in found["gpt"].predictions] == KEYS
    assert {one.choice for one in found["llama"].predictions} == {0}
    items = Dataset(replace(p, id=f"Größe {p.id}", sentence=f"¿{p.sentence}é") for p in DATA)
    for names in (items.ids, [p.sentence for p in items]):
        table = pd.DataFrame({"id": [normalize("NFD", name) for name in names], "m": "A"})
        assert {*answers.read(table, items)["m"].by_id} == {*items.ids}


def test_answers_to_unknown_items_are_refused_unless_partial():
    rows = [f"{problem.id},{LETTERS[key]}" for problem, key in zip(DATA, KEYS, strict=True)]
    path = make_source("m.csv", "\n".join(["id,gpt", *rows]))
    few = DATA.select(range(3))
    with pytest.raises(DataError, match=r"unknown id .* add `partial=True` to score only 3"):
        metrics.grade_models(path, few)
    with pytest.warns(formats.ReadingNote, match=r"omitted \d+ predictions? with an unknown id"):
        assert metrics.grade_models(path, few, partial=True)["gpt"].credit.tolist() == [1, 1, 1]


def test_column_of_keys_is_refused_as_a_model():
    """Next to probabilities, it is the only column with letters."""
    rows = [
        f"{p.id},{LETTERS[key]},0.{at}1" for at, (p, key) in enumerate(zip(DATA, KEYS, strict=True))
    ]
    path = make_source("m.csv", "\n".join(["id,gold,p_A", *rows]))
    with pytest.raises(FormatError, match="'gold' is the name of a key column"):
        answers.read(path, DATA)
    with pytest.warns(formats.ReadingNote, match="'p_A' contains no option's letter"):
        assert read_choices(path, DATA.blind())["gold"] == KEYS


def test_a_column_that_equals_the_keys_but_not_the_grades_is_refused():
    """Such as column 5 in the results of MMLU's own script."""
    rows = [[f"q{at}", "ABCD"[KEYS[at]], at % 2 == 0] for at in range(12)]
    text = "".join(",".join(map(str, row)) + "\n" for row in [["0", "5", "davinci_correct"], *rows])
    with pytest.raises(FormatError, match="'5' matches the key in every row"):
        answers.read(make_source("t.csv", text), DATA)
    graded = answers.read(make_source("t.csv", text.replace("False", "True")), DATA)
    assert [*graded] == ["5"]


def test_columns_of_options_are_not_read_as_grades():
    """If exactly one per row is true, the columns may be options, not models."""
    columns = {LETTERS[at]: [key == at for key in KEYS] for at in range(4)}
    table = pd.DataFrame({"id": DATA.ids, **columns})
    with pytest.raises(FormatError, match="exactly one of the columns 'A', 'B', 'C', … is true"):
        answers.read(table, DATA)
    table["D"] = False
    assert [*answers.read(table, DATA)] == [*"ABCD"]


def test_grades_of_items_with_letter_options_match_answers():
    said = [(key + at // 6) % 4 for at, key in enumerate(KEYS)]
    table = [{"id": p.id, "answer": LETTERS[own], "is_correct": own == p.answer}
             for p, own in zip(DATA, said, strict=True)]  # fmt: skip
    with pytest.warns(formats.ReadingNote, match="'is_correct' has grades"):
        (found,) = answers.read(table, DATA).values()
    assert [one.choice for one in found.predictions] == said
    assert found.log == answers.Log()


def test_constant_numbers_next_to_letters_are_not_answers():
    """Such a column may be the number of attempts."""
    table = pd.DataFrame({"id": DATA.ids, "gpt": [LETTERS[key] for key in KEYS], "attempts": 1})
    with pytest.warns(formats.ReadingNote, match="'attempts' has numbers"):
        assert [*answers.read(table, DATA)] == ["gpt"]
    table = table.drop(columns="attempts").assign(Difficulty=[*"ABC"] * 4, level=[1, 2, 3] * 4)
    assert [*answers.read(table, DATA)] == ["gpt"]


def test_id_column_is_the_one_that_matches_most_items():
    letters = [LETTERS[key] for key in KEYS]
    table = pd.DataFrame({"gpt": letters, "Frage": DATA.ids})
    records = {str(at): {"question_id": p.id, "gpt": LETTERS[key]}
               for at, (p, key) in enumerate(zip(DATA, KEYS, strict=True))}  # fmt: skip
    path = make_source("m.json", json.dumps(records))  # pandas: orient="index"
    for given in (table, path):
        assert read_choices(given)["gpt"] == KEYS


def test_ambiguous_number_with_decimal_comma_is_refused():
    """Here, "1,0" may mean the first option or the text 1."""
    items = Dataset([Problem("q", "How many?", ("2", "1", "3"), 0, blank=None)])
    with pytest.raises(FormatError, match="1,0 may mean option 1 or the text of option 2"):
        answers.read(make_source("m.csv", "id;m\nq;1,0\n"), items)


def test_scores_next_to_other_answer_columns_are_ignored():
    """Only records without other keys are winosmith's own."""
    table = [{"id": p.id, "pred": LETTERS[key], "scores": [0.1, 0.2]}
             for p, key in zip(DATA, KEYS, strict=True)]  # fmt: skip
    assert [*read_choices(table).values()] == [KEYS]


def test_incomplete_answer_ids_from_1_are_refused(tmp_path):
    """Each answer would belong to the next item."""
    items = Dataset(replace(p, id=str(at)) for at, p in enumerate(DATA))
    for ids in ([*range(1, 12)], [1, 2, 3, 4, 5, 6, 8, 12], [1, 2, 3, 4]):
        tables = ["id,m\n" + "".join(f"{at},A\n" for at in ids),
                  "".join(f'{{"id": {at}, "choice": 0}}\n' for at in ids)]  # fmt: skip
        for name, text in zip(("m.csv", "m.jsonl"), tables, strict=True):
            with pytest.raises(FormatError, match="the answers' ids count from 1"):
                answers.read(write_text(tmp_path / name, text), items)
    path = write_text(tmp_path / "m.csv", "id,m\n0,\n1,A\n2,A\n3,A\n")
    assert [*answers.read(path, items)["m"].by_id] == ["1", "2", "3"]


def test_letters_for_options_in_another_order_are_refused():
    items = Dataset(Problem(f"q{n}", f"{n}?", ("ox", "cat", "dog"), 0, blank=None) for n in "123")
    rows = [{"id": p.id, "options": [*p.options][::-1], "m": "A"} for p in items]
    with pytest.raises(FormatError, match=r"the options of 'q1', .* are in another order"):
        answers.read(rows, items)
    rows = [row | {"m": row["options"][at]} for at, row in enumerate(rows)]
    assert read_choices(rows, items)["m"] == [2, 1, 0]


def test_rows_with_the_question_of_another_item_are_refused():
    """For example, the ids of a shuffled copy of the data."""
    shifted = [*DATA[1:], DATA[0]]
    rows = [
        {"id": p.id, "question": q.sentence, "m": "A"} for p, q in zip(DATA, shifted, strict=True)
    ]
    with pytest.raises(FormatError, match="the id is 'q0', but the question is that of 'q1'"):
        answers.read(rows, DATA)


def test_answer_may_be_the_question_of_another_item():
    """In a vocabulary quiz in both directions, each option is also a question."""
    words = {"cat": "Katze", "dog": "Hund", "ox": "Ochse"}
    pairs = [*words.items(), *((two, one) for one, two in words.items())]
    texts = [tuple(words.values()), tuple(words)]
    items = Dataset(
        Problem(f"q{at}", word, texts[at // 3], at % 3, blank=None)
        for at, (word, _) in enumerate(pairs)
    )
    path = make_source(
        "m.csv",
        "id,m\n" + "".join(f"q{at},{two}\n" for at, (_, two) in enumerate(pairs)),
    )
    assert read_choices(path, items)["m"] == [*items.answers]


@pytest.mark.parametrize(
    "list_options",
    [
        lambda o: {"prompt": f"Which?\nA. {o[0]}\nB. {o[1]}\nC. {o[2]}"},
        lambda o: {"messages": [{"role": "user", "content": f"A) {o[0]} B) {o[1]} C) {o[2]}"}]},
        lambda o: {"choices": str([*o])},
        lambda o: {"choices": {"text": o, "label": ["A", "B", "C"]}},
        lambda o: {"o1": o[0], "p1": 0.2, "o2": o[1], "p2": 0.7, "o3": o[2]},
        lambda o: {"permutation": [2, 1, 0]},
    ],
)
@pytest.mark.parametrize("reply", [{"m": "A"}, {"score1": 2, "score2": 1, "score3": 0}])
def test_letters_and_scores_of_permuted_options_are_refused(list_options, reply):
    """Whichever column shows the order of the options that the model saw."""
    items = Dataset(Problem(f"q{n}", f"{n}?", ("ox", "cat", "dog"), 0, blank=None) for n in "123")
    rows = [{"id": p.id, **list_options([*p.options][::-1]), **reply} for p in items]
    remedy = "or, if these refer to the order in the data, remove the columns with the other order"
    with pytest.raises(FormatError, match=f"are in another order than in the data; .*{remedy}"):
        answers.read(rows, items)
    if "permutation" not in rows[0]:
        rows = [{"id": p.id, **list_options([*p.options]), **reply} for p in items]
        assert [*read_choices(rows, items).values()] == [[0, 0, 0]]


@pytest.mark.parametrize(
    "row",
    [
        {"gold": "key", "a": "own"},
        {"a": "own", "a_correct": "mark"},
        {"a": "own", "b": "own", "a_correct": "mark"},
        {"model": "a", "gold": "key", "answer": "own"},
    ],
)
def test_keys_and_grades_that_contradict_most_rows_are_refused(row):
    """The options were shuffled, and the table's key is that of the shuffled options."""
    for shift in (0, 1):
        rows = [
            {"id": p.id}
            | {name: {"key": LETTERS[(key + shift) % 4], "own": LETTERS[(key + shift) % 4],
                      "mark": True}.get(kind, kind) for name, kind in row.items()}
            for p, key in zip(DATA, KEYS, strict=True)
        ]  # fmt: skip
        if "model" in row:
            rows += [one | {"model": "b", "answer": "A"} for one in rows]
        if shift:
            with pytest.raises(FormatError, match=r"contradicts the data in 12 of 12 rows"):
                answers.read(rows, DATA)
        else:
            with warnings.catch_warnings(action="ignore", category=formats.ReadingNote):
                assert read_choices(rows)["a"] == KEYS


@pytest.mark.parametrize("first", [0, 1])
def test_numbers_that_equal_the_key_are_not_grades(first):
    """A column `correct` may contain the number of the correct option."""
    items = Dataset(Problem(f"q{n}", f"{n}?", ("ox", "cat"), n % 2, blank=None) for n in range(12))
    chosen = [n % 3 % 2 for n in range(12)]
    rows = [{"id": p.id, "correct": n % 2 + first, "m": p.options[chosen[n]]}
            for n, p in enumerate(items)]  # fmt: skip
    assert [*read_choices(rows, items).values()] == [chosen]


def test_numbers_in_a_link_are_not_a_permutation():
    rows = [{"id": p.id, "permalink": "x.org/4/3/9/7", "m": LETTERS[key]}
            for p, key in zip(DATA, KEYS, strict=True)]  # fmt: skip
    assert [*read_choices(rows).values()] == [KEYS]


def test_ids_are_kept_next_to_the_row_names_of_r():
    rows = [f'"{n + 1}",{n},The cup hit jug {n} because the _ was hard.,cup,jug,{n % 2 + 1}'
            for n in range(4)]  # fmt: skip
    path = make_source("r.csv", '"",id,sentence,option1,option2,answer\n' + "\n".join(rows))
    assert formats.read(path).ids == ("0", "1", "2", "3")


@pytest.mark.parametrize("name", ["group", "topic"])
def test_columns_that_describe_items_are_not_models(name):
    """Their values may look like letters, such as those of two groups of items."""
    rows = [{"id": p.id, name: "AB"[at % 2], "m": LETTERS[key]}
            for at, (p, key) in enumerate(zip(DATA, KEYS, strict=True))]  # fmt: skip
    assert [*answers.read(rows, DATA)] == ["m"]


@pytest.mark.parametrize("container", ["table", "csv", "parquet", "columns.json", "split.json"])
@pytest.mark.parametrize("rows", [[*range(11, -1, -1)], [0, 1, 3, 4, 6, 7, 9, 10]])
@pytest.mark.parametrize("names", [["question", "A", "B"], ["sentence", "option1", "option2"]])
def test_row_labels_of_pandas_are_the_ids(names, rows, container, tmp_path):
    """The rows of the data were sorted or selected, and the answers have the original labels."""
    keys = [at % 2 for at in range(12)]
    sentences = [f"The cup hit jug number {at} because the _ was hard." for at in range(12)]
    cells = [[one, "cup", "jug", "AB"[key] if "A" in names else key + 1]
             for one, key in zip(sentences, keys, strict=True)]  # fmt: skip
    table = pd.DataFrame(cells, columns=[*names, "answer"]).loc[rows]
    path = tmp_path / f"data.{container}"
    if container == "csv":
        table.to_csv(path)
    elif container == "parquet":
        table.to_parquet(path)
    elif container != "table":
        path.write_text(str(table.to_json(orient=container.partition(".")[0])), "utf-8")
    items = formats.read(table if container == "table" else path)
    assert items.ids == tuple(map(str, rows))
    pd.DataFrame({"m": ["AB"[key] for key in keys]}).to_csv(tmp_path / "m.csv")
    found = answers.read(tmp_path / "m.csv", items)["m"].by_id
    assert [found[one.id].choice for one in items] == [keys[at] for at in rows]


@pytest.mark.parametrize("reply", ["id,m\n{},B\n{},B\n", '{{"id":{},"choice":1}}\n'])
def test_some_of_the_numbers_of_several_files_are_refused(reply, tmp_path):
    """The 0 in a file of answers may be the first item of any file of data, unless it has ids."""
    data = tmp_path / "data"
    rows = [{"question": f"{at}?", "A": "cup", "B": "jug", "answer": "A"} for at in range(8)]
    for at, name in enumerate(("cups.jsonl", "jugs.jsonl")):
        write_jsonl(data / name, rows[4 * at : 4 * at + 4])
    path = write_text(tmp_path / "m.csv", reply.format(0, 1))
    with (
        pytest.warns(formats.ReadingNote, match="all problems are numbered together, from 0"),
        pytest.raises(FormatError, match="no unique ids, so '0' may be an item of any file o"),
    ):
        answers.read(path, data)
    every = pd.DataFrame({"id": range(8), "m": [*"ABABABAB"]})
    assert len(answers.read(every, data)["m"].predictions) == 8
    for at, name in enumerate(("cups.jsonl", "jugs.jsonl")):
        write_jsonl(data / name, [{"id": n, **rows[n]} for n in range(4 * at, 4 * at + 4)])
    (found,) = answers.read(write_text(path, reply.format(4, 5)), data).values()
    assert found.by_id.keys() <= {"4", "5"}
    for first in (0, None):  # an empty first cell
        asked = [{"nr": n % 4 if n else first, **rows[n]} for n in range(8)]
        parts = write_jsonl(tmp_path / "one.jsonl", asked)
        with pytest.raises(FormatError, match="no unique ids, so '0' may be an item of any file o"):
            answers.read(write_text(path, reply.format(0, 1)), parts)


def test_answers_with_ids_need_no_unique_ids_in_other_files(tmp_path):
    """Also if questions stand for ids."""
    rows = [{"question": f"{at}?", "A": "cup", "B": "jug", "answer": "A"} for at in range(8)]
    write_jsonl(tmp_path / "data/a.jsonl", [{"id": "x", **row} for row in rows[:4]])
    write_jsonl(tmp_path / "data/b.jsonl", [{"id": f"q{n}", **rows[n]} for n in range(4, 8)])
    named = pd.DataFrame({"id": [f"q{n}" for n in range(4, 8)], "m": "B"})
    asked = pd.DataFrame({"question": [f"{n}?" for n in range(6)], "m": "B"})
    b = formats.read(tmp_path / "data/b.jsonl")
    numbered = [replace(p, id=str(at)) for at, p in enumerate(formats.read(rows[:4]))]
    both = Dataset([*numbered, *b], is_numbered=True)
    assert answers.read(named, both)["m"].by_id.keys() == {"q4", "q5", "q6", "q7"}
    assert len(answers.read(asked, Dataset(formats.read(rows), is_numbered=True))["m"].by_id) == 6


def test_columns_of_other_letters_are_omitted():
    letters = [LETTERS[key] for key in KEYS]
    table = pd.DataFrame({"id": DATA.ids, "m": letters, "sex": [*"MF"] * 6, "passed": [*"YN"] * 6})
    with pytest.warns(formats.ReadingNote, match="contains no option's letter"):
        assert [*answers.read(table, DATA)] == ["m"]


def test_one_filter_may_be_a_text(tmp_path):
    """Its letters are no names of columns. A name without a column is reported."""
    letters = [LETTERS[key] for key in KEYS]
    table = pd.DataFrame({"id": DATA.ids, "g": letters, "gpt": letters})
    with warnings.catch_warnings(action="error"):
        assert [*answers.read(table, DATA, filters="gpt")] == ["gpt"]
    with pytest.warns(formats.ReadingNote, match="models' answers are read from 'gpt'"):
        answers.read(table.drop(columns="g"), DATA, filters=["gtp"])


@pytest.mark.parametrize(
    ("options", "replies", "choices", "note"),
    [
        ("3012", [2, 0, 1, 3], [3, 1, 2, 0], "read as texts of options; if they are positions"),
        ("abcd", [2, 1, 3, 2], [1, 0, 2, 1], "read as counted from 1, but none is that of a last"),
        ("abcd", [2, 1, 4, 2], [1, 0, 3, 1], ""),
        (["12", "7", "9", "20"], ["7", "9", "3", "20"], [1, 2, None, 3], ""),
    ],
)  # fmt: skip
def test_numbers_are_positions_or_texts(options, replies, choices, note, tmp_path):
    """A number that is no option is invalid if other numbers are texts of options."""
    items = Dataset(Problem(f"q{n}", f"{n}?", (*options,), 0, blank=None) for n in range(4))
    path = tmp_path / "m.json"
    path.write_text(json.dumps(dict(zip(items.ids, replies, strict=True))), "utf-8")
    with warnings.catch_warnings(record=True) as issued:
        warnings.simplefilter("always")
        assert [one.choice for one in answers.read(path, items)["m"].predictions] == choices
    assert [note in str(one.message) for one in issued] == [True] * bool(note)


@pytest.mark.parametrize("wrap", [dict, lambda replies: {"m": replies}])
def test_objects_of_answers_may_be_in_memory(wrap):
    """Also with numpy's numbers and missing answers."""
    replies = wrap({"q0": "B", "q1": np.int64(3), "q2": float("nan")})
    [found] = answers.read(replies, DATA).values()
    assert {one.problem_id: one.choice for one in found.predictions} == {"q0": 1, "q1": 2}


def test_quotation_marks_and_dashes_may_have_another_shape():
    """Language models write typographic signs; options that differ only in these are distinct."""
    options = ('I don\'t say "no"', "3 - 4", "3 – 4", "yes")
    items = Dataset(Problem(f"q{at}", f"{at}?", options, 0, blank=None) for at in range(4))
    replies = ["I don’t say “no”", "3 — 4", "3 – 4", "yes"]
    assert read_choices(dict(zip(items.ids, replies, strict=True)), items) == {
        "table": [0, None, 2, 3]
    }


def test_texts_may_be_numbered_from_0():
    """With their text, numbers from 0 and from 1 are equally clear."""
    items = Dataset(Problem(f"q{n}", f"{n}?", ("ox", "cat", "dog"), n, blank=None) for n in (0, 1))
    table = pd.DataFrame({"id": items.ids, "m": ["0. ox", "1. cat"]})
    assert read_choices(table, items) == {"m": [0, 1]}
    table["m"] = ["2. ox", "1. cat"]
    with pytest.raises(FormatError, match=r"'2\. ox' marks option 2, but has the text of option 1"):
        answers.read(table, items)


def test_pyarrows_selection_of_rows_keeps_no_index(tmp_path):
    """It keeps the metadata of the whole table, which doesn't say which rows were selected."""
    rows = {"question": [f"{at}?" for at in range(8)], "A": "x", "B": "y", "answer": "A"}
    whole = pa.Table.from_pandas(pd.DataFrame(rows, index=pd.RangeIndex(10, 18)))
    pq.write_table(whole.slice(2, 3), tmp_path / "quiz.parquet")
    for part in (whole.slice(2, 3), tmp_path / "quiz.parquet", whole.slice(0, 3)):
        assert formats.read(part).ids == ("0", "1", "2")
    assert formats.read(whole).ids == tuple(map(str, range(10, 18)))


@pytest.mark.parametrize("rows", [slice(4, 9), slice(None, None, 3), slice(None, None, -1)])
@pytest.mark.parametrize("name", [None, "number"])
def test_index_of_pandas_in_parquet_is_the_id(rows, name, tmp_path):
    """Pandas stores the index of selected rows only in the file's metadata."""
    asked = [{"question": f"Who {at}?", "A": "x", "B": "y", "answer": "A"} for at in range(12)]
    index = pd.RangeIndex(12, name=name)
    pd.DataFrame(asked, index=index)[rows].to_parquet(tmp_path / "quiz.parquet")
    pd.DataFrame({"m": [*"AABB"] * 3}, index=index)[rows].to_parquet(tmp_path / "m.parquet")
    wanted = [*map(str, range(12)[rows])]
    items = formats.read(tmp_path / "quiz.parquet", columns=formats.Columns(id=name))
    assert [*items.ids] == wanted
    found = answers.read(tmp_path / "m.parquet", items)["m"].predictions
    assert [(one.problem_id, one.choice) for one in found] == [
        (at, int(at) % 4 // 2) for at in wanted
    ]


def test_columns_of_models_are_listed_and_can_be_selected(tmp_path):
    """A column of letters may be a person's labels, and a column of numbers may be anything."""
    letters = [LETTERS[key] for key in KEYS]
    table = pd.DataFrame({"id": DATA.ids, "m": letters, "ann1": letters[::-1], "rater": "A"})
    with pytest.warns(formats.ReadingNote, match="are read from 'm', 'ann1' and 'rater'; if one"):
        assert [*answers.read(table, DATA)] == ["m", "ann1", "rater"]
    with warnings.catch_warnings(action="error"):
        assert [*answers.read(table, DATA, filters=["m"])] == ["m"]
    numbers = pd.DataFrame({"id": DATA.ids, "strength": [1 + key for key in KEYS]})
    with pytest.warns(formats.ReadingNote, match=r"from 'strength' \(numbers from 1\); if one"):
        assert [*answers.read(numbers, DATA)] == ["strength"]


def test_letter_of_one_option_and_text_of_another_are_refused(tmp_path):
    items = Dataset(Problem(f"q{n}", f"{n}?", ("ox", "cat", "dog"), 0, blank=None) for n in "123")
    path = write_text(tmp_path / "m.csv", "id,m\nq1,A. ox\nq2,3) dog\nq3,(B) dog\n")
    with pytest.raises(FormatError, match=r":4: 'q3': '\(B\) dog' marks option 2, but has the te"):
        answers.read(path, items)
    write_text(path, path.read_text("utf-8").replace("(B)", "c:"))
    assert [one.choice for one in answers.read(path, items)["m"].predictions] == [0, 2, 2]


def test_letters_that_are_all_texts_of_other_options_are_refused():
    """As if each option of each item were a panel of a figure."""
    items = Dataset(DATA.problems[1::2])
    table = pd.DataFrame({"id": items.ids, "m": [*"ABCDAB"]})
    with pytest.raises(FormatError, match=r"option \d or the text of option \d; write 1 for"):
        answers.read(table, items)
    found = answers.read(table.assign(m=[1, 2, 3, 4, 1, 2]), items)["m"].predictions
    assert [one.choice for one in found] == [0, 1, 2, 3, 0, 1]
