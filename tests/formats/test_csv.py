"""Plain tables, as people write them with spreadsheets."""

import json
from pathlib import Path

import pandas as pd
import pytest

from winosmith import Dataset, Lineage, Origin, Problem, formats
from winosmith.errors import FormatError
from winosmith.testing import make_twins


def read(tmp_path: Path, text: str) -> Dataset:
    """Read a table with this text."""
    path = tmp_path / "table.csv"
    path.write_bytes(text.encode())
    return formats.read(path, "csv")


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_separator_is_detected_from_the_header(tmp_path, separator):
    """Texts may contain other separators."""
    rows = [
        ["sentence", "option1", "option2", "answer"],
        ['"The cup, not the jug, fell; _ broke."', "cup", "jug", "1"],
    ]
    problem = read(tmp_path, "\n".join(separator.join(row) for row in rows))[0]
    assert problem == Problem("0", "The cup, not the jug, fell; _ broke.", ("cup", "jug"), 0)


def test_known_columns_become_fields(tmp_path):
    problem = read(
        tmp_path,
        "id,sentence,option1,option2,option3,answer,twin_id,pronoun,source,author,created,domain,"
        "anchor,licence,root,parent,depth,embargo\n"
        "p,A _ b.,x,y,z,3,t,it,crowd,c1,2026-11-21,social,cup,CC-BY-4.0,r,q,2,true\n",
    )[0]
    assert problem == Problem(
        "p",
        "A _ b.",
        ("x", "y", "z"),
        2,
        "t",
        "it",
        Origin("crowd", "c1", "2026-11-21", "social", "cup", "CC-BY-4.0"),
        Lineage("r", "q", declared=2),
        embargo=True,
    )


def test_other_columns_are_kept_in_extra(tmp_path):
    """Values that look like numbers or booleans are converted."""
    problem = read(
        tmp_path,
        "sentence,option1,option2,answer,colour,eval.score,is it good?,007\n"
        "A _ b.,x,y,,blue,0.5,true,007\n",
    )[0]
    assert dict(problem.extra) == {
        "csv.colour": "blue",
        "eval.score": 0.5,
        "csv.is it good?": True,
        "csv.007": "007",
    }


def test_columns_with_one_name_are_refused(tmp_path):
    """Two headers that would become one key are refused, too."""
    header = "sentence,option1,option2,answer"
    with pytest.raises(FormatError, match=r"table\.csv:1: the column 'answer' occurs twice"):
        read(tmp_path, f"{header},answer\nA _ b.,x,y,1,2\n")
    with pytest.raises(FormatError, match=r"two columns would both be named 'csv\.colour'"):
        read(tmp_path, f"{header},colour,csv.colour\nA _ b.,x,y,1,2,3\n")


def test_evograd_table_with_more_columns_is_a_plain_table(tmp_path):
    (tmp_path / "t.csv").write_text(
        "index,sentence,option1,option2,answer,distance,author\n1,A _ b.,x,y,2,3,c1\n"
    )
    problem = formats.read(tmp_path / "t.csv")[0]
    assert problem.origin == Origin(author="c1")
    assert dict(problem.extra) == {"csv.distance": 3, "csv.index": 1}


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("A _ b.,x,y", "the row has 3 cells; the header has 4"),
        ("A _ b.,x,y,B", "the answer is 'B'; with 2 options it must be a number from 1 to 2"),
        ("A _ b.,x,,1", "the number of options is 1"),
        ('A _ b.,"x,y,1', "is a quotation mark left open?"),
    ],
)
def test_malformed_row_is_reported_with_its_line(tmp_path, row, told):
    with pytest.raises(FormatError) as caught:
        read(tmp_path, f"sentence,option1,option2,answer\n{row}\n")
    assert "table.csv:2: " in str(caught.value)
    assert told in str(caught.value)


def test_only_the_last_options_may_be_empty(tmp_path):
    """Otherwise, an option would take the number of an empty one before it."""
    header = "sentence,option1,option2,option3,answer"
    with pytest.raises(FormatError, match=":2: an option is empty"):
        read(tmp_path, f"{header}\nA _ b.,x,,z,2\n")
    assert read(tmp_path, f"{header}\nA _ b.,x,y,,2\n")[0].options == ("x", "y")


def test_line_numbers_include_newlines_inside_cells(tmp_path):
    text = 'sentence,option1,option2,answer\n"A _\nb.",x,y,1\nno blank,x,y,1\n'
    with pytest.raises(FormatError, match=r"table\.csv:4: the sentence has no blanks"):
        read(tmp_path, text)


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "'=", "''+"])
def test_cells_are_never_formulas(tmp_path, start):
    """An apostrophe is written before texts that look like one, and removed on reading."""
    harm = f"{start}HYPERLINK(0) _ b."
    problem = Problem("p", harm, (f"{start}1+1", "y"), 0)
    formats.write([problem], tmp_path / "out.csv", "csv")
    cells = (tmp_path / "out.csv").read_bytes().decode().replace('"', "").split("\r\n", 1)[1]
    assert not any(cell[:1] in ("=", "+", "-", "@", "\t", "\r") for cell in cells.split(","))
    assert formats.read(tmp_path / "out.csv")[0] == problem


def test_rows_end_in_cr_lf(tmp_path):
    """RFC 4180 requires it. Newlines inside a sentence are kept. An empty table has a header."""
    formats.write([], tmp_path / "none.csv", "csv")
    assert (tmp_path / "none.csv").read_bytes() == b"id,sentence,option1,option2,answer\r\n"
    problem = Problem("p", "A _\nb,\u2028c.", ("x", "y"), 0)
    formats.write([problem], tmp_path / "out.csv", "csv")
    raw = (tmp_path / "out.csv").read_bytes().decode()
    assert raw == 'id,sentence,option1,option2,answer\r\np,"A _\nb,\u2028c.",x,y,1\r\n'
    assert formats.read(tmp_path / "out.csv")[0] == problem


def test_table_of_predictions_has_the_problems_of_winogrande(data_dir):
    table = formats.read(
        data_dir / "winogrande_predictions/cuichenx_dev_preds.csv", skip_bad="/dev/null"
    )
    dev = formats.read(data_dir / "winogrande/dev.jsonl")
    assert [(p.id, p.sentence, p.options, p.answer) for p in table] == [
        (p.id, p.sentence, p.options, p.answer) for p in dev
    ]


def test_table_and_records_are_read_as_one_data_set(tmp_path):
    """Records have numbers and null; tables have texts and empty cells."""
    table, records = tmp_path / "a.csv", tmp_path / "b.jsonl"
    table.write_text("id,sentence,option1,option2,answer,n\n1,A _ b.,x,y,2,5\n2,C _ d.,x,y,,\n")
    records.write_text(
        '{"id": 3, "sentence": "E _ f.", "option1": "x", "option2": "y", "answer": 1, "n": 6}\n'
        '{"id": 4, "sentence": "G _ h.", "option1": "x", "option2": "y", "answer": null}\n'
    )
    for paths in ([table, records], [records, table]):
        problems = sorted(formats.read(paths), key=lambda problem: problem.id)
        assert [(one.id, one.answer) for one in problems] == [
            ("1", 1), ("2", None), ("3", 0), ("4", None)
        ]  # fmt: skip


@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize(
    ("row", "first"),
    [
        ({"sentence": "A _ b {}.", "option1": "x", "option2": "y", "answer": 0}, 0),
        ({"qID": "{}A-1", "sentence": "A _ b {}.", "option1": "x", "option2": "y",
          "answer": "0"}, 0),
        ({"premise": "A {}.", "choice1": "x", "choice2": "y", "question": "cause", "label": 2,
          "idx": 0}, 1),
        ({"id": "{}", "sentence": "A _ b {}.", "options": ["x", "y"], "answer": 2}, 1),
    ],
)  # fmt: skip
def test_answers_numbered_from_the_wrong_start_are_refused(tmp_path, row, first, skip):
    """Without the bad records, the others would get the key of the next option."""
    key = "label" if "label" in row else "answer"
    rows = [
        {name: one.format(at) if isinstance(one, str) else one for name, one in row.items()}
        | {key: type(row[key])(first + at % 2)}
        for at in range(6)
    ]
    path, bad = tmp_path / "file.jsonl", tmp_path / "bad.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    with pytest.raises(FormatError, match=f"if all answers are numbered from {first}, renumber"):
        formats.read(path, skip_bad=bad if skip else None)


def test_keys_may_be_letters_texts_or_names_of_options(tmp_path):
    """The format `questions` reads them; numbers are read as before."""
    data = make_twins(2).problems
    for name, write in {
        "letters": lambda p: "AB"[p.answer], "texts": lambda p: p.options[p.answer],
        "names": lambda p: f"option{p.answer + 1}", "numbers": lambda p: p.answer + 1,
    }.items():  # fmt: skip
        head = ("id", "sentence", "option1", "option2", "answer")
        rows = [
            dict(zip(head, (p.id, p.sentence, *p.options, write(p)), strict=True)) for p in data
        ]
        found = [formats.read(rows)]
        path = tmp_path / f"{name}.csv"
        pd.DataFrame(rows).to_csv(path, index=False)
        found.append(formats.read(path))
        if name != "numbers":
            own = [{"id": p.id, "sentence": p.sentence, "options": [*p.options], "answer": write(p)}
                   for p in data]  # fmt: skip
            found.append(formats.read(own))
        for read in found:
            assert (read.ids, read.twins) == (Dataset(data).ids, ((0, 1), (2, 3)))
            assert read.answers == Dataset(data).answers


@pytest.mark.parametrize(
    ("format_name", "answers", "note"),
    [
        ("winosmith", [1, 2] * 10, "counted from 0, but none is 0; if they count from 1"),
        ("winosmith", [1, 0] * 10, ""),
        ("csv", [1, 2] * 10, "counted from 1, but none is that of a last option"),
        ("csv", [1] * 20, ""),  # the first option is often the correct one
        ("csv", [1, 2] * 4, ""),
    ],
)
def test_missing_numbers_of_options_are_noted(format_name, answers, note, tmp_path):
    names = [f"option{at}" for at in (1, 2, 3)]
    rows = [{"id": f"q{at}", "sentence": f"Cup {at} fell as the _ broke.", "answer": answer}
            | ({"options": names} if format_name == "winosmith" else {one: one for one in names})
            for at, answer in enumerate(answers)]  # fmt: skip
    found = formats.scan(rows, format_name)
    assert any(note in one for one in found.notes if "counted" in one) == bool(note)


@pytest.mark.parametrize("field", ["embargo", "root", "author"])
def test_letters_do_not_cost_problems_their_other_fields(field):
    """The format `questions` would put them into `extra`."""
    own = {"id": "a", "sentence": "The _ fell.", "option1": "cup", "option2": "jug", "answer": "A"}
    with pytest.raises(FormatError, match="it must be a number from 1 to 2"):
        formats.read([{**own, field: "x"}])
    lines = [{"id": one, "sentence": "The _ fell.", "options": ["cup", "jug"], "answer": "A"}
             for one in "ab"]  # fmt: skip
    text = "\n".join(map(json.dumps, (lines[0], lines[1] | {"embargo": True})))
    with pytest.raises(FormatError, match="the answer must be an index or None, not 'A'"):
        formats.read(formats.Source("own.jsonl", text.encode()))


@pytest.mark.parametrize("answers", [["A", None], [None, "B"]])
def test_some_keys_that_are_letters_may_be_missing(answers):
    head = {"sentence": "The _ fell.", "option1": "cup", "option2": "jug"}
    rows = [{"id": str(at), **head, "answer": answer} for at, answer in enumerate(answers)]
    table = pd.DataFrame(rows).to_csv(index=False)
    typed = [{"id": row["id"], "sentence": "The _ fell.", "options": ["cup", "jug"],
              "answer": row["answer"]} for row in rows]  # fmt: skip
    keys = tuple(answer and "AB".index(answer) for answer in answers)
    for given in (rows, typed, formats.Source("rows.csv", table.encode())):
        assert formats.read(given).answers == keys
