"""Rows of multiple-choice questions: their columns, choices and answers."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from string import ascii_uppercase
from typing import Any

import pytest
from hypothesis import given, strategies as st

from tests.conftest import needed
from winosmith import Problem, formats
from winosmith.errors import FormatError
from winosmith.formats import Columns

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=9).filter(str.strip)


def written(folder: Path, records: Sequence[dict[str, Any]]) -> Path:
    """Write records into a new file of JSON Lines."""
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    return path


def rows(
    answers: Sequence[Any], choices: Sequence[Any] = ("w", "x", "y", "z")
) -> list[dict[str, Any]]:
    """Return a record for each answer."""
    return [
        {"question": f"Which is number {n}?", "choices": list(choices), "answer": answer}
        for n, answer in enumerate(answers)
    ]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("openbookqa/train.jsonl", {4}),
        ("arc/challenge-test.jsonl", {3, 4, 5}),
        ("piqa/dev.jsonl", {2}),
        ("social_iqa/dev.jsonl", {3}),
    ],
)
def test_public_question_sets_are_read(data_dir, name, options):
    """The only bad records have two equal options."""
    found = formats.scan(data_dir / name)
    assert all("two options are equal" in str(bad.reason) for bad in found.bad)
    assert {len(item.options) for item in found.items} == options
    assert all(item.blank is None and item.answer is not None for item in found.items)


def test_equal_incorrect_options_are_read_with_a_note(tmp_path):
    """The note has the place of the first such item."""
    for name in ("one", "two"):
        quiz = [{"question": f"Why {name}?", "choices": ["w", "x", "x"], "answer": "w"}]
        (tmp_path / f"{name}.json").write_text(json.dumps(quiz))
    found = formats.scan([tmp_path / "one.json", tmp_path / "two.json"])
    assert [item.options for item in found.problems] == 2 * [("w", "x", "x")]
    place = f"{tmp_path / 'one.json'}, row 1"
    assert found.notes[-1] == f"2 problems have equal options, the first at {place}"


@pytest.mark.parametrize(
    ("answers", "read"),
    [
        ([0, 3, 2], [0, 3, 2]),
        ([1, 4, 2], [0, 3, 1]),
        (["0", "3"], [0, 3]),
        (["A", "d", "(B)", "C."], [0, 3, 1, 2]),
        (["w", " z ", "x"], [0, 3, 1]),
        ([[2], [0]], [2, 0]),
        ([0, None, -1, ""], [0, None, None, None]),
    ],
)
def test_answers_are_letters_numbers_or_texts(tmp_path, answers, read):
    """The kind follows from all answers of a file."""
    found = formats.read(written(tmp_path, rows(answers)))
    assert list(found.answers) == read


@pytest.mark.parametrize(
    ("records", "said", "read"),
    [
        (rows([1, 2, 3]), "1", [0, 1, 2]),
        (rows([1, 2, 3]), "0", [1, 2, 3]),
        (rows(["2", "3"], ("1", "2", "3", "4")), "text", [1, 2]),
        (rows(["A", "B"], ("B", "A", "C", "D")), "letter", [0, 1]),
    ],
)
def test_ambiguous_answers_need_answer_is(tmp_path, records, said, read):
    path = written(tmp_path, records)
    with pytest.raises(
        FormatError, match=r"rows\.jsonl:1: the answers can be read as .* `answer_is="
    ):
        formats.read(path)
    assert list(formats.read(path, columns=Columns(answer_is=said)).answers) == read


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({"answer": 4}, "4 names none of the 4 choices; the file's answers are numbers from 0"),
        ({"answer": "B"}, "the answer 'B' names none of the 4 choices; the file's answers are"),
        ({"answer": 10**400}, "names none of the 4 choices; the file's answers are numbers from 0"),
        ({"answer": "*" * 10_000}, "names none of the 4 choices; the file's answers are numbers"),
        ({"answer": [0, 2]}, r"the question has 2 correct answers ([0, 2])"),
        ({"choices": ["w"]}, "the number of options is 1; it must be 2 to 26"),
        ({"choices": ["w", " w"]}, "two options are equal: 'w', ' w'"),
        ({"choices": ["w", ""]}, "an option is empty"),
        ({"choices": [f"{n}" for n in range(1000)]}, "the number of options is 1000; it"),
        ({"choices": " ".join(f"{sign}) w" for sign in f"{ascii_uppercase}A")},
         "'choices' must be a list of choices, not 'A) w B) w"),
        ({"choices": 7}, "'choices' must be a list of choices, not '7'"),
        ({"question": " "}, "the question is empty"),
        ({"question": None}, "the row has no 'question'"),
    ],
)  # fmt: skip
def test_malformed_row_is_reported_and_the_others_are_read(tmp_path, record, reason):
    good = rows([0, 1, 2, 3] * 10)
    path = written(tmp_path, [*good, {**rows([0])[0], **record}])
    found = formats.scan(path)
    [bad] = found.bad
    assert (len(found.items), bad.line) == (40, 41)
    assert reason in str(bad.reason)


@pytest.mark.parametrize(
    "record",
    [
        {"goal": "Why?", "sol1": "x", "sol2": "y", "label": "y"},
        {"query": "Why?", "option_a": "x", "option_b": "y", "correct_answer": "y"},
        {"Question": "Why?", "Answer 1": "x", "Answer 2": "y", "Correct answer(s)": "2"},
    ],
)  # fmt: skip
def test_usual_column_names_are_recognised(tmp_path, record):
    [read] = formats.read(written(tmp_path, [record]))
    assert (read.sentence, read.options, read.answer) == ("Why?", ("x", "y"), 1)


@pytest.mark.parametrize(
    "record",
    [
        {
            "ID": "a",
            "Context": "It rains.",
            "Question": "Why?",
            "Choices": ["w", "x"],
            "Answer": "B",
        },
        {"Id": "a", "QUESTION": "It rains. Why?", "Option_A": "w", "Option_B": "x", "Key": "B"},
        {"Id": "a", "Query": "It rains. Why?", "Choice 1": "w", "Choice 2": "x", "Label": "x"},
    ],
)
def test_column_names_are_recognised_in_any_case(tmp_path, record):
    (read,) = formats.read(written(tmp_path, [record]))
    assert (read.id, read.sentence) == ("a", "It rains. Why?")
    assert (read.options, read.answer) == (("w", "x"), 1)
    pair = {"Premise": "It rains.", "Hypothesis": "It is wet."}
    two = written(tmp_path, [{**pair, "Label": label} for label in "yn"])
    assert formats.read(two)[0].sentence == "It rains. It is wet."


@pytest.mark.parametrize("name", ["Nr.", "Item No", "example_id", "UUID"])
def test_column_of_unique_numbers_is_the_id(tmp_path, name):
    """Otherwise, answers by these ids would be matched by row number."""
    rows = [{name: 9 - at, "question": "Why?", "choices": ["x", "y"], "answer": at % 2}
            for at in range(8)]  # fmt: skip
    assert formats.read(written(tmp_path, rows)).ids[:2] == ("9", "8")
    again = formats.read(written(tmp_path, [*rows, rows[0]]))
    assert (again.ids[:2], again[0].extra) == (("0", "1"), {f"questions.{name}": 9})


def test_columns_can_be_named(tmp_path):
    """Other columns are kept in `extra`."""
    path = tmp_path / "rows.csv"
    path.write_text("Nr,About,Asked,one,two,key,Level of it\n7,Tea.,Hot?,yes,no,two,3\n")
    columns = Columns(("About", "Asked"), ("one", "two"), "key")
    [problem] = formats.read(path, columns=columns)
    assert (problem.sentence, problem.options, problem.answer) == ("Tea. Hot?", ("yes", "no"), 1)
    assert (problem.id, dict(problem.extra)) == ("7", {"questions.Level of it": "3"})
    with pytest.raises(
        FormatError, match="there is no column 'Frage'; the columns are 'Nr', 'About"
    ):
        formats.read(path, columns=Columns(("Frage",)))
    with pytest.raises(FormatError, match="name one with `question=`"):
        formats.read(path, "questions")


def test_labels_of_sentence_pairs_are_their_choices():
    datasets = needed("datasets")
    features = datasets.Features(
        {
            "premise": datasets.Value("string"),
            "hypothesis": datasets.Value("string"),
            "label": datasets.ClassLabel(names=["yes", "maybe", "no"]),
        }
    )
    table = datasets.Dataset.from_dict(
        {"premise": ["A.", "B.", "C.", "D."], "hypothesis": ["a"] * 4, "label": [0, 2, 1, -1]},
        features=features,
    )
    with pytest.warns(formats.ReadingNote):
        found = formats.read(table)
    assert [found[0].options[answer] for answer in found.answers[:3] if answer is not None] == [
        "yes",
        "no",
        "maybe",
    ]
    assert (found.answers[3], found[0].sentence) == (None, "A. a")
    assert found[0].extra["questions.hypothesis"] == "a"


@given(
    st.lists(
        st.tuples(
            TEXTS,
            st.lists(TEXTS, min_size=2, max_size=26, unique_by=str.strip).map(tuple),
            st.booleans(),
        ),
        min_size=1,
        max_size=3,
    )
)
def test_problems_round_trip_through_a_dataframe(drawn):
    problems = tuple(
        Problem(str(n), f"{text}_", options, n % 2, blank=len(text) if blank else None)
        for n, (text, options, blank) in enumerate(drawn)
    )
    assert formats.read(formats.to_frame(problems), as_written=True).problems == problems


def test_table_that_lost_the_positions_of_blanks_has_a_note():
    """Libraries that read our JSON Lines as a table put null where a key is missing."""
    problems = [
        Problem("a", "The _ fell.", ("cup", "jug"), 0),
        Problem("b", "What is __init__?", ("it", "one"), 1, blank=None),
    ]
    table = formats.to_frame(problems)
    assert formats.scan(table).notes == ()
    table["blank"] = None
    found = formats.scan(table)
    assert [item.blank for item in found.items] == [None, None]
    assert found.notes[0].startswith(
        "1 of the texts have one '_' ('a', …) but are read as questions"
    )
    table["blank"] = [None, 8.0]
    found = formats.scan(table)
    assert [item.blank for item in found.items] == [None, 8]
    assert "remove the column 'blank' from the table" in found.notes[0]
    assert formats.scan(table.drop(columns="blank").head(1)).items == problems[:1]
    table.loc[0, "sentence"] = "What is a_b?"
    assert formats.scan(table).notes == ()


def test_record_without_blank_key_has_its_blank_at_the_underscore(tmp_path):
    """Another record of the array may have the key."""
    asked = {"id": "q", "sentence": "Why?", "blank": None, "options": ["a", "b"]}
    blank = {"id": "s", "sentence": "The _ fell.", "options": ["cup", "jug"]}
    path = tmp_path / "rows.json"
    path.write_text(json.dumps([asked, blank]))
    found = formats.scan(path)
    assert ([item.blank for item in found.items], found.notes) == ([None, 4], ())


def test_choices_that_are_one_word_are_not_a_question(tmp_path):
    path = written(tmp_path, [{"question": "NN", "options": "NNS", "answer": "VB"}])
    with pytest.raises(FormatError, match="no known format fits"):
        formats.scan(path)


@pytest.mark.long
def test_table_with_300_000_columns_is_refused(tmp_path):
    """Each column could begin the choices, so that comparing all pairs would never end."""
    path = tmp_path / "wide.csv"
    path.write_text(f"{'a,' * 300_000}z\n", "utf-8")
    with pytest.raises(FormatError):
        formats.read(path)


def test_reading_questions_reports_progress_from_the_start(tmp_path):
    """Rows are parsed, get their columns, and become problems."""
    told: list[float] = []
    formats.scan(written(tmp_path, rows([0, 1, 2, 3] * 300)), on_progress=told.append)
    assert told == sorted(told)
    assert told[0] < 0.01 < 0.9 < told[-1] <= 1
    assert len(told) == 15


def test_letter_of_one_choice_and_text_of_another_are_refused(tmp_path):
    """The line is listed, whether the other answers are letters, texts or both."""
    for others in (["A", "B", "D"], ["w", "x", "z"], ["A. w", "2) x", "(d) z"]):
        records = rows([*others, *others, "C. x"])
        fault = r":7: the answer 'C. x' marks option 3, but has the text of option 2"
        with pytest.raises(FormatError, match=fault):
            formats.read(written(tmp_path, records))
        keys = formats.read(written(tmp_path, records[:3])).answers
        assert keys == (0, 1, 3)


@pytest.mark.parametrize("end", [".0", ",0", ".00", ",00"])
def test_decimal_zeros_of_keys_are_ignored(end, tmp_path):
    """As SPSS and spreadsheets write them."""
    records = rows([f"{at % 4 + 1}{end}" for at in range(8)])
    assert formats.read(written(tmp_path, records)).answers == (0, 1, 2, 3) * 2


@pytest.mark.parametrize(
    "labels", ["BACD", "1324", "2013", "دجبأ", "ABCD", "FGHJ", "أبتث", "イロハニ"]
)
def test_choices_are_put_in_the_order_of_their_labels(labels, tmp_path):
    """Otherwise, a letter in a file of answers could mean the label or the position of a choice."""
    choices = {"text": [*"wxyz"], "label": [*labels]}
    records = [{"question": f"{n}?", "choices": choices, "answer": labels[2]} for n in range(4)]
    found = formats.scan(written(tmp_path, records))
    order = {"BACD": "xwyz", "1324": "wyxz", "دجبأ": "zyxw", "2013": "xywz"}.get(labels, "wxyz")
    assert [one.options for one in found.problems] == [(*order,)] * 4
    assert [one.options[one.answer] for one in found.problems] == ["y"] * 4
    records = [record | {"answer": n % 4} for n, record in enumerate(records * 2)]
    if labels in ("BACD", "دجبأ"):  # 0 could be the first choice in the file, or the first label
        with pytest.raises(
            FormatError, match="the answer 0 is not a label, and the choices are la"
        ):
            formats.read(written(tmp_path, records))
        listed = formats.read(written(tmp_path, records), columns=Columns(answer_is="0"))
        assert [one.options[one.answer] for one in listed] == [*"wxyz"] * 2
    note = f"labelled in another order, such as {', '.join(labels)}; they are put in the order of"
    assert any(note in one for one in found.notes) == (order != "wxyz")


def test_labels_with_gaps_are_noted(tmp_path):
    """A letter in a file of answers could mean the label or the position of a choice."""
    choices = {"text": [*"wxyz"], "label": [*"ACDE"]}
    records = [{"question": f"{n}?", "choices": choices, "answer": "D"} for n in range(4)]
    found = formats.scan(written(tmp_path, records))
    assert [(one.options, one.answer) for one in found.problems] == [((*"wxyz",), 2)] * 4
    note = "labelled with gaps, such as A, C, D, E; letters in files of answers mean positions"
    assert any(note in one for one in found.notes)


def test_flags_of_choices_are_not_suggested_as_answers(tmp_path):
    """They would be read as numbers of choices."""
    records = [
        {"question": f"{n}?", "a": "x", "b": "y", "c": "z"}
        | {f"right_{at}": int(at == n % 3) for at in range(3)}
        for n in range(6)
    ]
    (note,) = formats.scan(written(tmp_path, records)).notes
    assert "no answer column was found" in note
    assert "perhaps" not in note


@pytest.mark.parametrize("label", ["option_{}", "({})", "{}.", "Choice {}"])
@pytest.mark.parametrize("signs", ["ABC", "123"])
def test_labels_may_have_words_and_punctuation(label, signs, tmp_path):
    """Without them, the labels are letters or numbers in another order."""
    records = []
    for at, order in enumerate(("312", "123", "213")):
        labels = [label.format(signs[int(one) - 1]) for one in order]
        choices = {"label": labels, "text": [f"text {one}" for one in order]}
        records.append({"question": f"{at}?", "choices": choices, "answer": labels[at]})
    found = formats.read(written(tmp_path, records))
    texts = tuple(f"text {one}" for one in "123")
    assert [(one.options, one.answer) for one in found] == [(texts, at) for at in (2, 1, 2)]
    if signs == "ABC":
        records = [{**one, "answer": signs[at]} for one, at in zip(records, (2, 1, 2), strict=True)]
        assert formats.read(written(tmp_path, records)).problems == found.problems


def test_choices_in_one_text_may_be_in_another_order(tmp_path):
    """After a question, the first letter must be A: otherwise it may be part of the question."""
    for order in ("ADCB", "CABD", "DCBA"):
        text = "\n".join(f"{one}) text {one}" for one in order)
        records = [{"question": f"{at}?", "options": text, "answer": "ABCD"[at]} for at in range(4)]
        found = formats.read(written(tmp_path, records))
        assert [one.options for one in found] == [tuple(f"text {one}" for one in "ABCD")] * 4
        assert found.answers == (0, 1, 2, 3)
    for order in ("CABD", "DABC"):
        text = "Which?\n" + "\n".join(f"{one}) text {one}" for one in order)
        records = [{"question": text, "answer": "ABCD"[at]} for at in range(4)]
        with pytest.raises(FormatError, match="no columns of choices were found"):
            formats.read(written(tmp_path, records))


@pytest.mark.parametrize(
    "question",
    [
        "E. coli grows where?",
        "The plot:\nE. Smith leaves.\nWhy?",
        "D: Where?\nE: Here.\nWhy?",
        "Events:\n(A) x\n(B) y\n(C) z\n(D) v\n(E) w\nWhich is first?",
    ],
)
def test_letters_in_questions_are_not_those_of_choices(question, tmp_path):
    """They follow those of the choices, but are not in the line before the first choice."""
    choices = "A) vitamin w B) x C) E. coli D) z"
    for text in (f"{question}\n{re.sub(' (?=[B-D][)])', chr(10), choices)}", f"Who? {choices}"):
        records = [{"question": text, "answer": key} for key in "ABCD"]
        found = formats.read(written(tmp_path, records))[0]
        assert found.options == ("vitamin w", "x", "E. coli", "z")
        assert found.sentence == (question if "\n" in text else "Who?")
