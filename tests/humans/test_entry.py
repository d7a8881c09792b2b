"""Answers from tables and forms, with the places of errors."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from winosmith.errors import DataError, FormatError
from winosmith.humans import (
    Answer,
    Item,
    Remark,
    Sheet,
    SheetRemark,
    Sitting,
    Subject,
    check_sittings,
    make_answers_record,
    make_responses,
    make_subject_record,
    make_subjects,
    read_answer_form,
    read_answer_table,
    read_subjects,
)


def sheet(test: str = "a", *, schemas: str = "s", data: str = "d") -> Sheet:
    """Return a sheet of four items; the second lists its options in reverse."""
    text, snippet = ("The cup hit the jug and ", "it", " broke."), ("", "it", " broke")
    items = tuple(
        Item(number, f"{test}{number}", f"{schemas}{number}", text, snippet,
             tuple(("cup", "jug", "vase")[option] for option in order), order)
        for number, order in enumerate([(0, 1), (1, 0), (0, 1, 2), (0, 1)], 1)
    )  # fmt: skip
    return Sheet("Schemas", test, 1, 0, data, items)


A = sheet()
SHEETS = {A.code: A}


def table(folder: Path, text: str) -> Path:
    """Write a table of answers, with CODE replaced by the code of the sheet."""
    path = folder / "answers.csv"
    path.write_text(text.replace("CODE", A.code), "utf-8")
    return path


def test_long_and_wide_tables_give_the_same_answers(tmp_path):
    long = read_answer_table(
        table(tmp_path, "subject,sheet,number,answer,seconds\nS1,CODE,1,a,\nS1,CODE,2,A,4.5\n"
              "S1,CODE,3,X,\nS1,CODE,4,,\nS2,CODE,4,B,\n"), SHEETS)  # fmt: skip
    wide = read_answer_table(
        table(tmp_path, "subject;sheet;Q1;Q2;Q3;Q4\nS1;CODE;A;A;x;\nS2;;;;;b\n"), SHEETS
    )

    def letters(sittings: list[Sitting]) -> dict[str, dict[int, str]]:
        return {s.subject: {n: a.letter for n, a in s.answers.items()} for s in sittings}

    assert letters(long) == letters(wide) == {"S1": {1: "A", 2: "A", 3: "X"}, "S2": {4: "B"}}
    said = make_responses(long)
    assert [(r.problem_id, r.choice, r.ambiguous, r.seconds) for r in said] == [
        ("a1", 0, False, None),
        ("a2", 1, False, 4.5),
        ("a3", None, True, None),
        ("a4", 1, False, None),
    ]
    assert {r.purpose for r in said} == {"test"}
    assert said[1].shown == (1, 0)


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("subject,number,answer\nS1,9,A\n", 2, "has questions 1 to 4, not 9"),
        (
            "subject,number,answer\nS1,1,A\nS1,1,B\n",
            3,
            r"'S1' already answered question 1.*csv:2\)",
        ),
        ("subject,number,answer\nS1,1,C\n", 2, "'C' is not an answer to question 1; use A, B"),
        ("subject,number,answer\nS1,one,A\n", 2, "'one' is not a question number"),
        ("subject,number,answer,seconds\nS1,1,A,-2\n", 2, "'-2' is not a number of seconds"),
        ("subject,number,answer,seconds\nS1,1,A,inf\n", 2, "'inf' is not a number of seconds"),
        ("subject,number,answer\n,1,A\n", 2, "has no subject"),
        ("subject,number,answer\nS1,1\n", 2, "2 cells; the header has 3"),
        (
            "subject,sheet,number,answer\nS1,b-9-QQQQ,1,A\n",
            2,
            "unknown sheet 'b-9-QQQQ'; the sheets",
        ),
        ("subject,1,2\nS1,A,B\n\nS1,B,B\n", 4, r"already has the sheet .*csv:2\); it was typed"),
        ("subject,1,5\nS1,A,B\n", 2, "questions 1 to 4, not 5"),
        ("subject,1,1\nS1,A,B\n", 1, "the column '1' occurs twice"),
        ("subject,1,age\nS1,A,30\n", 1, "unknown column 'age'"),
        ("subject,sheet\nS1,CODE\n", 1, "no answer column"),
        ("number,answer\n1,A\n", 1, "needs a column 'subject'"),
        ('""subject,number,answer\nS1,1,A\n', 1, "needs a column 'subject'"),
        ('{"subject": "S1", "1": "A"}\n{"1": "A"}\n', 2, "the row has no subject"),
        ('{"subject": "S1", "1": "A"}\n{"subject": "S2", "age": 3}\n', 2, "unknown column 'age'"),
        (
            '{"subject": "S1", "number": 1, "answer": "A"}\n{"subject": "S2", "answer": "A"}\n',
            2,
            "'' is not a question number",
        ),
    ],
)
def test_faults_in_a_table_are_reported_with_their_line(tmp_path, text, line, reason):
    with pytest.raises(FormatError, match=reason) as told:
        read_answer_table(table(tmp_path, text), SHEETS)
    assert told.value.line == line
    assert str(told.value).startswith(f"{tmp_path / 'answers.csv'}:{line}: ")


def test_form_round_trip(tmp_path):
    sitting = Sitting(
        "S1", A, {1: Answer("B", 2.5), 3: Answer("X")}, "2026-11-21T10:00:00Z",
        "2026-11-21T10:20:00Z", 900.0, (SheetRemark(1, "a novel"),),
        (SheetRemark(None, "jug"),), False, {"age": "30"},
    )  # fmt: skip
    path = tmp_path / "form.json"
    path.write_text(json.dumps(make_answers_record(sitting)), "utf-8")
    read = read_answer_form(path, SHEETS)
    assert make_answers_record(read) == make_answers_record(sitting)
    assert read.native is False
    (subject,) = make_subjects([read])
    assert subject.seconds == 900.0
    assert subject.recognised == (Remark("a1", "a novel"),)
    assert subject.words == (Remark(None, "jug"),)


@pytest.mark.parametrize(("second", "whole"), [(60.0, 90.0), (None, None)])
def test_total_time_needs_the_time_of_each_sheet(second, whole):
    sittings = [Sitting("S1", A, {}, seconds=30.0), Sitting("S1", sheet("b"), {}, seconds=second)]
    assert [subject.seconds for subject in make_subjects(sittings)] == [whole]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"winosmith": "sheet"}, "not an answers file from a form"),
        ({"version": 9}, "unknown version 9"),
        ({"sheet": "a-1-ZZZZ"}, "unknown sheet 'a-1-ZZZZ'"),
        ({"subject": " "}, "the answers have no subject"),
        ({"answers": {"1": {"letter": "E"}}}, "'E' is not an answer to question 1"),
        ({"answers": {"7": {"letter": "A"}}}, "questions 1 to 4, not 7"),
        ({"answers": {"one": {"letter": "A"}}}, "'one' is not a question number"),
        ({"answers": [1]}, "the answers can't be read"),
        ({"attributes": {"native": "perhaps"}}, "native is 'perhaps'"),
    ],
)
def test_form_faults_are_reported(tmp_path, change, reason):
    path = tmp_path / "form.json"
    record = {**make_answers_record(Sitting("S1", A, {1: Answer("A")})), **change}
    path.write_text(json.dumps(record), "utf-8")
    with pytest.raises(FormatError, match=reason) as told:
        read_answer_form(path, SHEETS)
    assert str(told.value).startswith(str(path))


def test_codes_that_look_alike_are_one_subject_in_all_files(tmp_path):
    """Otherwise the subject would have no answers, or could see both halves."""
    path = tmp_path / "subjects.csv"
    path.write_text("subject,native\nJose\u0301,yes\n", "utf-8")
    answers = read_answer_table(table(tmp_path, "subject,1\nJose\u0301,A\nAnn,A\n"), SHEETS)
    people = make_subjects(answers, read_subjects(path))
    assert [(one.code, one.native) for one in people] == [("José", True), ("Ann", None)]
    form = tmp_path / "form.json"
    form.write_text(json.dumps(make_answers_record(Sitting("Jose\u0301", A, {}))), "utf-8")
    assert read_answer_form(form, SHEETS).subject == "José"


def test_repeated_tests_and_both_halves_are_refused():
    first = Sitting("S1", A, {1: Answer("A")}, where="one.csv:2")
    with pytest.raises(DataError, match=r"two\.csv:9: 'S1' already took test a \(one\.csv:2"):
        check_sittings([first, replace(first, where="two.csv:9")])
    other = Sitting("S1", sheet("b"), {}, where="two.csv:3")
    with pytest.raises(DataError, match=r"both halves of a schema \('a1' and 'b1'\)"):
        check_sittings([first, other])
    check_sittings([first, replace(other, subject="S2")])
    check_sittings([first, Sitting("S1", sheet("common", schemas="c"), {})])


def test_contradictory_declarations_of_a_subject_are_refused():
    """They may be two subjects with one code."""
    first = Sitting("S1", A, {}, native=True, where="one.json")
    second = Sitting("S1", sheet("common", schemas="c"), {}, native=False, where="two.json")
    with pytest.raises(DataError, match=r"'S1' has native 'no', and 'yes' in one\.json"):
        check_sittings([first, second])


def test_subjects_file_has_times_remarks_and_attributes(tmp_path):
    path = tmp_path / "subjects.csv"
    path.write_text(
        "Subject,native,started,ended,recognised,words,age\n"
        "S1,yes,2026-11-21T10:00,2026-11-21T10:20,2: a novel; a film,,30\nS2,,,,,3: jug,\n",
        "utf-8",
    )
    declared = read_subjects(path)
    assert declared[0] == Subject(
        "S1", True, {"age": "30"}, 1200.0, (), (Remark("2", "a novel"), Remark(None, "a film"))
    )
    sittings = [Sitting("S1", A, {}), Sitting("S2", A, {})]
    first, second = make_subjects(sittings, declared)
    assert first.recognised == (Remark("a2", "a novel"), Remark(None, "a film"))
    assert second.words == (Remark("a3", "jug"),)
    assert first.taken[0].problems == ("a1", "a2", "a3", "a4")
    with pytest.raises(DataError, match="the subject 'S2' has no answers"):
        make_subjects(sittings[:1], declared)
    lines = tmp_path / "subjects.jsonl"
    lines.write_text("".join(json.dumps(make_subject_record(s)) + "\n" for s in (first, second)))
    assert read_subjects(lines) == (first, second)


@pytest.mark.parametrize(
    ("rows", "line", "reason"),
    [
        ("native\nS1,yes\nS1,no\n", 3, "two subjects have the code 'S1'; the first is on line 2"),
        ("native\nS1,maybe\n", 2, "native is 'maybe'"),
        ("native\n,yes\n", 2, "the subject has no code"),
        ("native\nS1\n", 2, "has 1 cells; the header has 2"),
        (
            "started,ended\nS1,2026-11-21T11:00,2026-11-21T10:00\n",
            2,
            "the end .* is before the start",
        ),
    ],
)
def test_faults_of_subjects_are_reported(tmp_path, rows, line, reason):
    path = tmp_path / "subjects.csv"
    path.write_text("subject," + rows, "utf-8")
    with pytest.raises(FormatError, match=reason) as told:
        read_subjects(path)
    assert told.value.line == line


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('"S2"', "this is not a JSON object: '\"S2\"'"),
        ('{"native": true}', "subject is None; it must be text"),
        ('{"subject": 7}', "subject is 7; it must be text"),
        ('{"subject": "S1", "taken": [{}]}', "[[taken]] the key 'sheet' is missing"),
    ],
)
def test_damaged_subject_records_are_explained(tmp_path, line, reason):
    path = tmp_path / "subjects.jsonl"
    path.write_text(f'{{"subject": "S1"}}\n{line}\n', "utf-8")
    with pytest.raises(FormatError) as told:
        read_subjects(path)
    assert str(told.value) == f"{path}:2: {reason}"
