"""Columns of any script and spelling, columns in two languages, and very many columns."""

import csv
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import given, strategies as st

from winosmith import Problem, formats
from winosmith.dataset import ColumnRoles
from winosmith.errors import FormatError
from winosmith.formats import Columns
from winosmith.formats._letters import LETTERS, OTHER_SERIES
from winosmith.problem import Extra, make_extra_key

NAMES = ("Größe (cm)", "分野", "ペア", "z.B. Länge", "=1+1", "a, b", "वर्ग", "'s")


def put(folder: Path, rows: Sequence[dict[str, Any]], suffix: str = ".jsonl") -> Path:
    """Write rows into a new file, as JSON Lines or a table."""
    path = folder / f"rows{suffix}"
    if suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        return path
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.mark.parametrize(
    ("rows", "roles"),
    [
        ([{"question": "Why?", "choices": ["a", "b"], "label": n, "hint": ""} for n in (0, 1)],
         ColumnRoles("questions", ("question",), ("choices",), "label", "0", None, ("hint",))),
        ([{"question": "Why?", "answer": "yes"}, {"question": "How?", "answer": "no"}],
         ColumnRoles("questions", ("question",), ("answer",), "answer", "label")),
        ([{"question": "Why?", "correct_answer": "a", "distractor1": "b", "id": "x"}],
         ColumnRoles("questions", ("question",), ("correct_answer", "distractor1"),
                     "correct_answer", None, "id")),
        ([{"sentence": "A _ b.", "option1": "x", "option2": "y", "answer": 1, "qID": "1"}],
         ColumnRoles("winogrande")),
    ],
)  # fmt: skip
def test_roles_of_columns_are_a_fact_of_the_data_set(rows, roles):
    assert formats.read(rows).roles == roles


@given(st.lists(st.text(min_size=1, max_size=9), max_size=4))
def test_fields_of_any_name_round_trip(tmp_path_factory, names):
    path = tmp_path_factory.mktemp("any") / "out"
    keys = [make_extra_key(of, name) for name in names for of in ("csv", "questions")]
    made = [Problem("p", "A _ b.", ("x", "y"), 0, extra=Extra(dict.fromkeys(keys, "v")))]
    for name in ("csv", "winosmith"):
        formats.write(made, path, name)
        assert formats.read(path, name, pair_by="").problems == tuple(made)


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
@pytest.mark.parametrize("question", [False, True])
def test_column_names_of_any_script_are_kept(tmp_path, suffix, question):
    options = {"option1": "x", "option2": "y", "answer": "1"}
    text = {"question": "Why?"} if question else {"sentence": "A _ b."}
    row = text | options | dict.fromkeys(NAMES, "v")
    item = formats.scan(put(tmp_path, [row, {**row, "answer": "2"}], suffix)).items[0]
    assert {name for key in item.extra for name in NAMES if key.endswith(name)} == {*NAMES}
    assert len(item.extra) == len(NAMES)


@pytest.mark.parametrize(
    "row",
    [
        {"question": "Why {}?", "choices": ["x", "y"], "answer": 0, "id": "no {}"},
        {"sentence": "A {} _ b.", "option1": "x", "option2": "y", "answer": "1"},
        {"id": "no {}", "sentence": "A {} _ b.", "option1": "x", "option2": "y", "answer": ""},
    ],
)
def test_ids_are_read_from_a_named_column_in_any_format(tmp_path, row):
    """Items are otherwise unchanged, and a repeated id is a bad record."""
    many = [
        {key: one.format(at) if isinstance(one, str) else one for key, one in row.items()}
        | {"Ref": f"r{at}"}
        for at in range(3)
    ]
    path, columns = put(tmp_path, many), Columns(id="Ref")
    plain = formats.scan(path, pair_by="").problems
    problems = formats.scan(path, pair_by="", columns=columns).problems
    assert [one.id for one in problems] == ["r0", "r1", "r2"]
    assert [one.sentence for one in problems] == [one.sentence for one in plain]
    assert not any("Ref" in key for one in problems for key in one.extra)
    repeated = formats.scan(put(tmp_path, [many[0], many[1], many[0]]), columns=columns)
    assert "'r0' was already used" in repeated.bad[0].reason
    with pytest.raises(FormatError, match="there is no column 'Nr'"):
        formats.scan(path, columns=Columns(id="Nr"))


def make_translated_twins(*languages: str) -> list[dict[str, Any]]:
    """Return a row for each half of ten twins, with a sentence and options per language."""
    return [
        {"qID": f"d{n}-{half + 1}", "ペア": n} | {
            key: text for name in languages for key, text in (
                (f"{name}Sentence", f"{name}jar {n}: the _ was {('big', 'thin')[half]}."),
                (f"{name}Option 1", f"{name}jar"), (f"{name}Option 2", f"{name}bag"))
        } | {"Answer": half + 1}
        for n in range(10) for half in range(2)
    ]  # fmt: skip


def test_columns_in_two_languages_must_be_named(tmp_path):
    """Naming only the sentence or only the options is not enough."""
    path = put(tmp_path, make_translated_twins("English ", "Dutch "), ".csv")
    asked = "'English Option 1', 'English Option 2' or 'Dutch Option 1', 'Dutch Option 2'"
    for columns in (None, Columns(("Dutch Sentence",))):
        with pytest.raises(FormatError, match=f"the choices may be {asked}; name"):
            formats.scan(path, columns=columns)
    dutch = ("Dutch Option 1", "Dutch Option 2")
    with pytest.raises(FormatError, match="a blank: 'English Sentence', 'Dutch Sentence'; name"):
        formats.scan(path, columns=Columns(choices=dutch))
    data = formats.read(path, columns=Columns(("Dutch Sentence",), dutch))
    assert all(problem.blank is not None and problem.options[0] == "Dutch jar" for problem in data)
    assert len(data.twins) == 10


@pytest.mark.parametrize(
    ("named", "others"),
    [
        ({"question_nl": "Waarom?"}, {"option1_nl": "x", "option2_nl": "y"}),
        ({"Satz": "Warum?"}, {"Auswahl 1": "x", "Auswahl 2": "y"}),
        ({"question_nl": "Waarom?"}, {"choices_nl": ["x", "y"]}),
    ],
)
def test_translated_columns_are_recognised_by_their_names(tmp_path, named, others):
    """A question with a translated name needs named choices; a plain one has the plain options."""
    plain = {"choices": ["a", "b"]} if "choices_nl" in others else {"option1": "a", "option2": "b"}
    rows = [{"question": "Why?", **plain, **others, **named, "answer": n} for n in (0, 1)]
    path = put(tmp_path, rows)
    with pytest.raises(FormatError, match=f"the choices may be .* or {next(iter(others))!r}"):
        formats.scan(path, columns=Columns(tuple(named)))
    assert formats.scan(path).items[0].options == ("a", "b")


@pytest.mark.parametrize("text", ["罐子{}倒了，因为_很{}。", "{}번 상자에서 _가 {}."])
def test_blank_may_touch_chinese_words_and_korean_particles(tmp_path, text):
    rows = [{"문장": text.format(at // 2, "ab"[at % 2]), "x 1": "p", "x 2": "q", "y": at % 2}
            for at in range(20)]  # fmt: skip
    data = formats.read(
        put(tmp_path, rows, ".csv"), columns=Columns(("문장",), ("x 1", "x 2"), "y")
    )
    assert all(problem.blank is not None for problem in data)


def test_column_with_blanks_is_the_sentence_whatever_its_name(tmp_path):
    rows = [{"Satz": row.pop("Sentence"), **row} for row in make_translated_twins("")]
    assert len(formats.read(put(tmp_path, rows, ".csv")).twins) == 10
    path = put(tmp_path, [{**row, "qID": n} for n, row in enumerate(rows)], ".csv")
    assert len(formats.read(path).twins) == 10
    assert len(formats.read(path, pair_by="ペア").twins) == 10


@pytest.mark.parametrize("letters", [*LETTERS.values(), *OTHER_SERIES])
@pytest.mark.parametrize("where", ["labels", "columns", "signs", "text"])
def test_letters_are_counted_in_the_order_of_their_script(tmp_path, letters, where):
    """В is the third letter, and ث is fourth in أبتث."""
    signs, texts = letters[:4], ("red", "blue", "green", "gray")
    pairs = [*zip(signs, texts, strict=True)]
    marked: dict[str, dict[str, Any]] = {
        "labels": {"choices": texts},
        "columns": dict(pairs),
        "signs": {"choices": [f"{sign}) {text}" for sign, text in pairs]},
        "text": {"question": "\n".join(["Why?", *(f"{sign}. {text}" for sign, text in pairs)])},
    }
    rows = [{"question": "Why?", **marked[where], "answer": sign} for sign in signs]
    found = formats.read(put(tmp_path, rows))
    assert (found.answers, found[0].options) == ((0, 1, 2, 3), texts)


@pytest.mark.parametrize(
    "signs", ["ⒶⒷⒸⒹ", "⑴⑵⑶⑷", "㈎㈏㈐㈑", ["(1)", "(2)", "(3)", "(4)"], ["i", "II", "III.", "(IV)"],
              ["الف", "ب", "ج", "د"]]
)  # fmt: skip
def test_enclosed_letters_and_roman_numerals_mark_options(tmp_path, signs):
    rows = [{"question": "Why?", "choices": ["red", "blue", "green", "gray"], "answer": sign}
            for sign in signs]  # fmt: skip
    assert formats.read(put(tmp_path, rows)).answers == (0, 1, 2, 3)


def test_answers_that_name_no_choice_are_bad_records(tmp_path):
    """Two orders of letters fit the other answers."""
    rows = [{"question": "Why?", "choices": list("wxyz"), "answer": a} for a in "بجبجأ"]
    found = formats.scan(put(tmp_path, [*rows, *({**rows[0], "answer": "سؤال"} for _ in range(3))]),
                         columns=Columns(answer_is="letter"))  # fmt: skip
    assert [bad.line for bad in found.bad] == [6, 7, 8]
    rows = [{**rows[0], "answer": a} for a in (*"ABABA", "??", "??", "??")]
    assert [bad.line for bad in formats.scan(put(tmp_path, rows)).bad] == [6, 7, 8]


def test_answers_with_letters_of_two_scripts_are_refused(tmp_path):
    """Among Cyrillic letters, a Latin B may be the second or the third option."""
    rows = [{"question": "Why?", "choices": list("wxyz"), "answer": a} for a in "АБВГАБBА"]
    told = r":7: the answers mix letters of several scripts.*Cyrillic in most rows, Latin in line 7"
    with pytest.raises(FormatError, match=told):
        formats.read(put(tmp_path, rows))


def test_spellings_of_a_label_are_merged_and_typos_are_bad_records(tmp_path):
    rows = [{"premise": "A.", "hypothesis": f"{n}?", "label": ("yes", "no")[n % 2]}
            for n in range(60)]  # fmt: skip
    for at, label in ((10, "Yes"), (22, "Yes"), (30, "yse"), (33, "noo"), (40, "yes."), (50, "t")):
        rows[at]["label"] = label
    found = formats.scan(put(tmp_path, rows))
    assert {item.options for item in found.items if isinstance(item, Problem)} == {("no", "yes")}
    assert found.notes[-2:] == (
        "the label 'Yes' (lines 11 and 23) is read as 'yes'",
        "the label 'yes.' (line 41) is read as 'yes'",
    )
    assert [(bad.line, str(bad.reason).partition(":")[0]) for bad in found.bad] == [
        (31, "the label 'yse' (line 31) is rare and may be a typo"),
        (34, "the label 'noo' (line 34) is rare and may be a typo"),
        (51, "the label 't' (line 51) is rare and may be a typo"),
    ]
    named = formats.scan(put(tmp_path, rows), columns=Columns(choices=("label",)))
    assert not named.bad
    assert "the label 'yse' (line 31) is rare" in named.notes


def test_rare_label_is_a_class_with_a_note(tmp_path):
    """It may be correct."""
    rows = [{"question": f"Is it {n}?", "answer": ("yes", "no")[n % 2]} for n in range(60)]
    rows[3]["answer"] = "N/A"
    for at in (5, 7, 9):
        rows[at]["answer"] = "unclear"
    rows[11]["answer"] = "NA"
    found = formats.scan(put(tmp_path, rows))
    assert not found.bad
    assert {
        "the label 'N/A' (line 4) is rare", "the label 'unclear' (lines 6, 8 and 10) is rare"
    } < {*found.notes}  # fmt: skip
    assert {p.options for p in found.problems} == {("N/A", "no", "unclear", "yes")}
    assert [p.id for p in found.problems if p.answer is None] == ["11"]


@pytest.mark.parametrize(
    ("usual", "other"),
    [
        ("是", "是。"),
        ("हाँ", "हाँ।"),
        ("sí", "¡Sí!"),
        ("yes", "\u200byes"),
        ("10", "10\ufeff"),
        ("not_so", "Not so"),
    ],
)
def test_marks_and_invisible_characters_make_no_new_class(tmp_path, usual, other):
    rows = [{"premise": "A.", "hypothesis": f"{n}?", "label": (usual, "否")[n % 2]}
            for n in range(20)]  # fmt: skip
    rows[4]["label"] = rows[6]["label"] = other
    found = formats.scan(put(tmp_path, rows), columns=Columns(choices=("label",)))
    assert {item.options for item in found.items if isinstance(item, Problem)} == {
        tuple(sorted((usual, "否")))
    }
    assert "(lines 5 and 7) is read as" in found.notes[-1]


@pytest.mark.parametrize(
    ("labels", "options", "note"),
    [
        (("true", "false", "1", "0"), ("False", "True"), "'0' .* is read as 'false'"),
        (("yes", "no", "Y", "n"), ("no", "yes"), "'n' .* is read as 'no'"),
        (("0", "1", "٠", "１"), ("0", "1"), "'１' .* is read as '1'"),
        (("1,0", "2,0"), ("1", "2"), "as the question"),
        (("TRUE", "FALSE"), ("False", "True"), "as the question"),
        (
            ("entailment", "neutral", "entails"),
            ("entailment", "entails", "neutral"),
            r"'entailment' \(lines 1, .*\) and 'entails' \(lines 3, .*\) may be one class",
        ),
        (
            ("0", "no way", "1", "sure"),
            ("0", "1", "no way", "sure"),
            r"numbers, such as '0' \(lines 1, .*\), and words, such as 'no way' \(lines 2, ",
        ),
        (("t", "f", "n"), ("f", "n", "t"), "'f' .* and 'n' .* may be one class"),
        (("sí", "si", "no"), ("no", "si", "sí"), "'sí' .* and 'si' .* may be one class"),
    ],
)
def test_synonymous_labels_are_merged_or_reported(tmp_path, labels, options, note):
    """Two words for yes are merged if the file also has both for no."""
    rows = [{"premise": "A.", "hypothesis": f"{n}?", "label": labels[n % len(labels)]}
            for n in range(24)]  # fmt: skip
    found = formats.scan(put(tmp_path, rows))
    assert {item.options for item in found.problems} == {options}
    assert re.search(note, found.notes[-1])


def test_flags_may_mark_the_answer_among_columns_of_choices(tmp_path):
    row = {"question": "Why?", "A": "w", "B": "x", "C": "y"}
    assert formats.read(put(tmp_path, [{**row, "answer": [0, 0, 1]}])).answers == (2,)
    both = formats.scan(put(tmp_path, [{**row, "answer": [0, 1, 1]}]))
    assert "3 correct answers" in str(both.bad[0].reason)


@pytest.mark.parametrize(
    ("names", "others"),
    [
        (("option_en_{}", "Chaguo {}"), "12"),
        (("Option {} (English)", "选项{}"), "12"),
        (("option{}EN", "Chaguo {}"), "12"),
        (("Option {}", "선택 {}"), "가나"),
    ],
)
def test_named_question_does_not_select_options_of_a_language(tmp_path, names, others):
    """The columns of options have words for "option" in two languages."""
    marks = ("AB", others) if others == "가나" else (others, others)
    rows = [
        {"Sentence": f"The cup hit jug {n} as the _ fell.", "Sentensi": f"Kikombe {n} kwa _ sana."}
        | {name.format(mark): f"word {at}{word}" for at, name in enumerate(names)
           for mark, word in zip(marks[at], "xy", strict=True)}
        | {"answer": n % 2 + 1}
        for n in range(8)
    ]  # fmt: skip
    path = put(tmp_path, rows)
    with pytest.raises(FormatError, match="the choices may be"):
        formats.scan(path, columns=Columns(question=("Sentensi",)))
    both = [names[1].format(mark) for mark in others]
    found = formats.scan(path, columns=Columns(("Sentensi",), tuple(both)))
    assert {problem.options for problem in found.problems} == {("word 1x", "word 1y")}


def test_detected_half_of_named_columns_is_reported(tmp_path):
    """The user names only the question or only the choices; a note names the others."""
    row = {
        "question": "Why?",
        "choices": ["a", "b"],
        "질문": "왜?",
        "보기": ["ㄱ1", "ㄴ2"],
        "answer": 0,
    }
    path = put(tmp_path, [row])
    for columns in (Columns(question=("질문",)), Columns(choices=("보기",))):
        assert "read as the choices, and" in formats.scan(path, columns=columns).notes[0]
    renamed = [{"options" if name == "보기" else name: value for name, value in row.items()}]
    [note] = formats.scan(put(tmp_path, renamed)).notes
    assert note == "'choices' are read as the choices, and 'question' as the question"


def test_options_of_two_languages_are_not_a_question(tmp_path):
    """A column with blanks is the question, and the choices must be named."""
    row = {"option_en_1": "cup", "option_en_2": "jug", "option_nl_1": "kop", "option_nl_2": "kan"}
    rows = [{"Satz": f"The _ is {n}.", **row, "answer": n % 2 + 1} for n in range(9)]
    with pytest.raises(FormatError, match="the choices may be 'option_en_1', 'option_en_2' or"):
        formats.scan(put(tmp_path, rows))
    rows = [{**one, "zin": f"De _ is {n}."} for n, one in enumerate(rows)]
    with pytest.raises(FormatError, match="blank: 'Satz', 'zin'; name one"):
        formats.scan(put(tmp_path, rows))


@pytest.mark.parametrize("name", ["sentence", "option1", "option2"])
def test_mapping_of_languages_is_a_bad_record(tmp_path, name):
    """It is not read as a text of JSON."""
    row = {"id": "a", "sentence": "The _ fell.", "option1": "cup", "option2": "jug", "twin_id": "t"}
    found = formats.scan(
        put(tmp_path, [row, {**row, "id": "b", name: {"en": "A _ b.", "nl": "x"}}])
    )
    assert [bad.reason for bad in found.bad] == [
        f'{name!r} must be text, not {{"en":"A _ b.","nl":"x"}}'
    ]
    asked = {"question": {"en": "Why?"}, "choices": ["a", "b"], "answer": "A"}
    assert "required, not \"{'en'" in str(formats.scan(put(tmp_path, [asked])).bad[0].reason)


@pytest.mark.parametrize("letters", ["א׳ ב'", "\u1100\u1161 \u1102\u1161", "（ａ） ｂ．"])
def test_letters_may_have_a_mark_or_be_decomposed(tmp_path, letters):
    """A Hebrew letter may have a geresh."""
    rows = [{"question": "Why?", "A": "w", "B": "x", "answer": one} for one in letters.split()]
    assert formats.read(put(tmp_path, rows)).answers == (0, 1)


@pytest.mark.parametrize("said", ["cre\u0300me", "crème\u200b", "\ufeffCrème"])
def test_answer_matches_the_option_that_looks_the_same(tmp_path, said):
    """It may differ in Unicode form, case and invisible characters."""
    row = {"question": "Why?", "option1": "tea", "option2": "crème"}
    rows = [{**row, "answer": answer} for answer in (said, "tea")]
    assert formats.read(put(tmp_path, rows)).answers == (1, 0)


def test_label_in_2_rows_near_one_in_10_is_a_typo(tmp_path):
    """Its rows are bad records. The labels differ in one letter."""
    labels = ["entailment", "neutral", "contradiction"] * 12
    rows = [{"premise": "A.", "hypothesis": f"{n}?", "label": one} for n, one in enumerate(labels)]
    rows[2]["label"] = rows[5]["label"] = "contradition"
    found = formats.scan(put(tmp_path, rows))
    assert [bad.line for bad in found.bad] == [3, 6]
    assert {len(item.options) for item in found.items if isinstance(item, Problem)} == {3}


@pytest.mark.parametrize(
    ("options", "numbers"), [("2341", (1.0, 2.0)), (("2.0", "3.0", "4.0", "1.0"), (1, 2))]
)
@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_numbers_that_may_be_texts_or_places_of_options_are_refused(
    tmp_path, options, numbers, suffix
):
    """If the options are 2, 3, 4 and 1, the answer 1.0 may be the first or the last one."""
    rows = [{"question": "Why?", **dict(zip("ABCD", options, strict=True)), "answer": number}
            for number in numbers]  # fmt: skip
    path = put(tmp_path, rows, suffix)
    with pytest.raises(FormatError, match="can be read as texts of choices or as numbers from"):
        formats.read(path)
    assert formats.read(path, columns=Columns(answer_is="text")).answers == (3, 0)


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("I) w\nII) x\nA. (M) 18) w\nB. 10. x", ("(M) 18) w", "10. x")),
        ("(A) w (B) x.\n(A) only A\n(B) both (A) and (B)", ("only A", "both (A) and (B)")),
        ("Why?\nA. a) w\nB. a) x", ("a) w", "a) x")),
        ("Why?\n- A. w\n- B. x", ("w", "x")),
    ],
)
def test_only_letters_in_series_begin_an_option_in_a_text(tmp_path, text, options):
    """A text without such letters is reported."""
    rows = [{"question": f"{text} {n}", "answer": "AB"[n % 2]} for n in range(9)]
    found = formats.scan(put(tmp_path, [*rows, {"question": "Why?", "answer": "A"}]))
    item = found.items[0]
    assert isinstance(item, Problem)
    assert item.options == (options[0], f"{options[1]} 0")
    [bad] = found.bad
    assert bad.reason == "'question' contains no choices after letters such as 'A.' and 'B.'"


def test_null_is_not_an_option_and_ambiguous_key_is_a_bad_record(tmp_path):
    rows = [{"question": "Why?", "choices": ["w", "x", None], "answer": a} for a in "wx"]
    rows.append({"question": "Why?", "choices": ["W", "x", "w "], "answer": "w"})
    rows.append({"question": "Why?", "choices": ["Paris", "x", "paris "], "answer": "PARIS"})
    found = formats.scan(put(tmp_path, rows))
    assert [len(item.options) for item in found.items if isinstance(item, Problem)] == [2, 2, 3]
    [bad] = found.bad
    assert bad.reason == "the answer 'PARIS' matches the choices 1 and 3; keep only one of them"


@pytest.mark.parametrize(
    ("cells", "answers", "sizes"),
    [
        (("NB NM NA", "FR FA GB"), ("C", "A"), (3, 3)),
        (("NM NB NA", "FR FA GB"), ("NA", "FR"), (3, 3)),
        (("US FR NA", "US FR NA"), ("B", "A"), (3, 3)),
        (("US FR NA", "US FR GB"), ("B", "A"), (2, 3)),
        (("US NA NA", "US FR GB"), ("US", "GB"), (2, 3)),
        (("NB NM NA", "US FR GB"), (2, 0), (3, 3)),
    ],
)
def test_na_is_a_choice_if_an_answer_names_it(tmp_path, cells, answers, sizes):
    """Otherwise, it is an empty cell if another row has a value there and two choices remain."""
    rows = [
        {"question": "Why?", **dict(zip("ABC", row.split(), strict=True)), "answer": answer}
        for row, answer in zip(cells, answers, strict=True)
    ]
    found = formats.read(put(tmp_path, rows))
    assert tuple(len(p.options) for p in found) == sizes
    assert None not in found.answers


def test_missing_value_such_as_none_is_an_answer_if_it_is_a_choice(tmp_path):
    numbers = [{"question": f"{n}?", "A": "-1.0", "B": "2.5", "answer": a}
               for n, a in enumerate(("-1.0", "2.5"))]  # fmt: skip
    assert formats.read(put(tmp_path, numbers)).answers == (0, 1)
    rows = [{"question": "How many?", "choices": ["A. None", "B. One"], "answer": a}
            for a in ("None", "One")]  # fmt: skip
    assert formats.read(put(tmp_path, rows)).answers == (0, 1)


def test_rare_class_is_kept_if_it_is_not_a_typo(tmp_path):
    """Spellings of a class are counted together."""
    for labels in (["yes"] * 12 + ["no"] * 2, ["so"] * 20 + ["No", "No", "no", "no"]):
        rows = [{"premise": "A.", "hypothesis": f"{n}?", "label": label}
                for n, label in enumerate(labels)]  # fmt: skip
        found = formats.scan(put(tmp_path, rows))
        assert not found.bad
        assert {len(p.options) for p in found.problems} == {2}


@pytest.mark.parametrize("text", [{"sentence": "A _ b."}, {"question": "Why?"}])
@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_answers_may_be_integers_written_as_floats(tmp_path, text, suffix):
    """Programs write integers as 1.0 and 2.0 if one is missing. The missing answer is withheld."""
    made = [text | {"option1": "x", "option2": "y", "answer": answer} for answer in (2.0, "", 1.0)]
    assert formats.read(put(tmp_path, made, suffix)).answers == (1, None, 0)
    for missing in ("NaN", "NA", "-1.0", "#N/A"):
        made[1]["answer"] = missing
        assert formats.read(put(tmp_path, made, suffix)).answers == (1, None, 0)


@pytest.mark.parametrize("missing", ["NA", "n/a", "None", "NULL", "-", "?", "nan"])
def test_missing_answer_is_withheld_unless_it_is_a_choice(tmp_path, missing):
    rows = [{"question": f"Why {n}?", "A": "x", "B": "y", "C": ("z", "NA")[n % 2],
             "answer": (1, 2, 1, missing)[n % 4]} for n in range(20)]  # fmt: skip
    found = formats.scan(put(tmp_path, rows))
    assert [p.answer for p in found.problems] == [0, 1, 0, None] * 5
    assert [len(p.options) for p in found.problems] == [3, 2] * 10
    assert "'C' is 'NA' in 10 rows; these cells are read as empty" in found.notes
    texts = [{"question": f"Why {n}?", "A": missing, "B": "y", "answer": (missing, "y")[n % 2]}
             for n in range(4)]  # fmt: skip
    assert formats.read(put(tmp_path, texts)).answers == (0, 1) * 2


def test_column_names_of_a_wide_table_are_normalised_once(tmp_path, monkeypatch):
    """They are not normalised for each row. Errors don't list all 3,000 columns."""
    from winosmith.formats import _names

    looks, real = list[str](), _names.normalise
    monkeypatch.setattr(_names, "normalise", lambda name: looks.append(name) or real(name))
    wide = {f"c{n}": "v" for n in range(3000)}
    rows = [{"question": f"Why {n}?", "A": "x", "B": "y", "answer": "A"} | wide for n in range(9)]
    path = put(tmp_path, rows, ".csv")
    assert len(formats.read(path)[8].extra) == 3000
    assert len(looks) < 20 * 3000
    with pytest.raises(FormatError, match=r"'c15', and 2,984 more") as caught:
        formats.read(path, columns=Columns(("c",)))
    assert len(str(caught.value)) < 1000


SIZES = {
    "rows": lambda n: [{"question": f"Why {k}?", "choices": ["w", "x"], "answer": k % 2}
                       for k in range(20 * n)],
    "rows from a template": lambda n: [
        {"id": f"i{k}", "sentence": f"A {k // 2} _ b {k % 2}.", "option1": "w", "option2": "x",
         "answer": 1 + k % 2} for k in range(20 * n)],
    "rows of twins": lambda n: [
        {"id": f"i{k}", "sentence": f"{k % 2} _ {' '.join(f'{k // 2}{x}' for x in 'abcdefgh')}.",
         "option1": "w", "option2": "x", "answer": 1 + k % 2} for k in range(20 * n)],
    "columns": lambda n: [{"question": f"Why {k}?", "A": "w", "B": "x", "answer": "A",
                           **{f"c{c}": "v" for c in range(20 * n)}} for k in range(3)],
    "options": lambda n: [{"question": f"Why {k}?", "answer": k % (2 * n),
                           "choices": {str(o): f"w{o}" for o in range(2 * n)}} for k in range(9)],
    "nested questions": lambda n: [
        {"text": f"{k}.", "questions": [{"question": f"Why {q}?", "A": "w", "B": "x", "answer": "B"}
                                        for q in range(10 * n)]} for k in range(3)],
    "lists of as many": lambda n: [
        {"article": f"{k}.", "questions": ["Why?"] * 2, "options": [["w", "x"]] * 2,
         "answers": ["A", "B"], **{f"label{c}s": ["v"] * 2 for c in range(20 * n)}}
        for k in range(3)],
    "passages": lambda n: [{"passage": f"{k}.", "question": f"Why {k}?", "A": "w", "B": "x",
                            "answer": "B", **{f"p{c}_passage": "a b" for c in range(20 * n)}}
                           for k in range(3)],
    "tables of twins": lambda n: [
        {"sentence": f"A {k} _ b.", "option1": "w", "option2": "x", "answer": 1, "id": f"i{k}",
         **{f"c{c}": "v" for c in range(20 * n)}} for k in range(3)],
}  # fmt: skip
"""Functions that return rows whose number, or number of parts, grows with n."""


@pytest.mark.parametrize("kind", SIZES)
def test_work_of_reading_is_linear_in_the_input(kind):
    """Work is the number of function calls and comprehension steps in the `formats` package."""

    def work(n: int) -> int:
        steps, folder = 0, str(Path(formats.__file__).parent)
        rows = SIZES[kind](n)

        def count(frame: FrameType, *_: object) -> Any:
            nonlocal steps
            steps += 1
            return count if folder in frame.f_code.co_filename else None

        before = sys.gettrace()
        sys.settrace(count)
        try:
            formats.scan(rows, "questions" if "sentence" not in rows[0] else "csv", pair_by="")
        finally:
            sys.settrace(before)
        return steps

    work(1)  # fills the caches that don't depend on the input
    small, large = work(1), work(16 if kind != "options" else 13)
    assert large < 17 * small


@pytest.mark.parametrize("more", [{}, {"answer": ""}, {"answer": "NA"}, {"label": [0, 1]}])
def test_flagged_choice_is_the_key_whatever_its_text(tmp_path, more):
    flags = [{"text": "DE", "correct": False}, {"text": "NA", "correct": True}]
    choices = ["DE", "NA"] if "label" in more else flags
    rows = [{"question": f"Why {n}?", "choices": choices, **more} for n in range(4)]
    assert formats.read(put(tmp_path, rows)).answers == (1,) * 4


def test_flags_may_be_words(tmp_path):
    for yes, no in (("true", "False"), ("Yes", "no")):
        flags = [{"text": "DE", "isCorrect": no}, {"text": "NA", "isCorrect": yes}]
        rows = [{"question": f"Why {n}?", "choices": flags} for n in range(4)]
        assert formats.read(put(tmp_path, rows)).answers == (1,) * 4


@pytest.mark.parametrize(
    ("named", "asked"),
    [
        (Columns(question=("Frage",)), "the choices may be 'A', 'B' or 'A_de', 'B_de'"),
        (Columns(choices=("A_de", "B_de")), "may not be the choices of 'question'"),
    ],
)
def test_translated_question_is_not_joined_with_original_choices(named, asked):
    """With both in two languages, naming one of them asks for the other."""
    row = {"question": "Which floats?", "A": "cork", "B": "lead", "answer": "A"}
    row |= {"Frage": "Was schwimmt?", "A_de": "Kork", "B_de": "Blei"}
    with pytest.raises(FormatError, match=asked):
        formats.scan([row], columns=named)
    both = Columns(question=("Frage",), choices=("A_de", "B_de"))
    assert formats.scan([row], columns=both).problems[0].options == ("Kork", "Blei")


@pytest.mark.parametrize(("usual", "rare"), [("sí", "si"), ("да", "дa"), ("nein", "neín")])
def test_rare_label_that_looks_like_another_is_a_bad_record(usual, rare, tmp_path):
    """It lacks a diacritic, or has a letter of another script."""
    rows = [{"premise": "A.", "hypothesis": f"{n}?", "label": (usual, "x")[n % 2]}
            for n in range(20)]  # fmt: skip
    rows[6]["label"] = rare
    found = formats.scan(put(tmp_path, rows))
    assert [bad.line for bad in found.bad] == [7]
    assert {p.options for p in found.problems} == {tuple(sorted((usual, "x")))}
