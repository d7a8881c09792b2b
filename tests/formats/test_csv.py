"""Plain tables: what people make with spreadsheets."""

import json
from pathlib import Path
from typing import Any

import pytest

from winosmith import Dataset, Lineage, Origin, Problem, formats
from winosmith.errors import FormatError


def read(tmp_path: Path, text: str) -> Dataset:
    """Return what is read of a table with this text."""
    path = tmp_path / "table.csv"
    path.write_bytes(text.encode())
    return formats.read(path, "csv")


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_any_usual_separator_will_do(tmp_path: Path, separator: str) -> None:
    """Commas, semicolons and tabs are told from the header, also with commas in the texts."""
    rows = [
        ["sentence", "option1", "option2", "answer"],
        ['"The cup, not the jug, fell; _ broke."', "cup", "jug", "1"],
    ]
    problem = read(tmp_path, "\n".join(separator.join(row) for row in rows))[0]
    assert problem == Problem("0", "The cup, not the jug, fell; _ broke.", ("cup", "jug"), 0)


def test_known_columns_are_known(tmp_path: Path) -> None:
    """Twin, pronoun, origin, lineage and embargo have columns of their own."""
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


def test_other_columns_go_to_extra(tmp_path: Path) -> None:
    """A column that is not known is kept by its name, and its values as what they read as."""
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


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    """Neither equal headers nor headers that would be one key are silently merged."""
    header = "sentence,option1,option2,answer"
    with pytest.raises(FormatError, match=r"table\.csv:1: the column 'answer' occurs twice"):
        read(tmp_path, f"{header},answer\nA _ b.,x,y,1,2\n")
    with pytest.raises(FormatError, match=r"two columns would both be named 'csv\.colour'"):
        read(tmp_path, f"{header},colour,csv.colour\nA _ b.,x,y,1,2,3\n")


def test_evograd_with_more_columns_is_a_plain_table(tmp_path: Path) -> None:
    """A table with EvoGrad's columns and others is read as a plain one, which keeps them all."""
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
def test_a_bad_row_is_named(tmp_path: Path, row: str, told: str) -> None:
    """Missing cells, letters for answers and open quotation marks are told with their line."""
    with pytest.raises(FormatError) as caught:
        read(tmp_path, f"sentence,option1,option2,answer\n{row}\n")
    assert "table.csv:2: " in str(caught.value)
    assert told in str(caught.value)


def test_no_option_takes_the_number_of_an_empty_one(tmp_path: Path) -> None:
    """A cell that is empty before a filled one is no option; those after the last are not there."""
    header = "sentence,option1,option2,option3,answer"
    with pytest.raises(FormatError, match=":2: an option is empty"):
        read(tmp_path, f"{header}\nA _ b.,x,,z,2\n")
    assert read(tmp_path, f"{header}\nA _ b.,x,y,,2\n")[0].options == ("x", "y")


def test_a_line_end_inside_a_cell_counts_for_the_line(tmp_path: Path) -> None:
    """The line that is told of a bad row is the one in the file, after cells of several lines."""
    text = 'sentence,option1,option2,answer\n"A _\nb.",x,y,1\nno blank,x,y,1\n'
    with pytest.raises(FormatError, match=r"table\.csv:4: the sentence has no blanks"):
        read(tmp_path, text)


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "'=", "''+"])
def test_no_cell_is_a_formula(tmp_path: Path, start: str) -> None:
    """What a spreadsheet would run is written with an apostrophe before it, and read without."""
    harm = f"{start}HYPERLINK(0) _ b."
    problem = Problem("p", harm, (f"{start}1+1", "y"), 0)
    formats.write([problem], tmp_path / "out.csv", "csv")
    cells = (tmp_path / "out.csv").read_bytes().decode().replace('"', "").split("\r\n", 1)[1]
    assert not any(cell[:1] in ("=", "+", "-", "@", "\t", "\r") for cell in cells.split(","))
    assert formats.read(tmp_path / "out.csv")[0] == problem


def test_rows_end_as_spreadsheets_expect(tmp_path: Path) -> None:
    """Rows end in CR LF (RFC 4180), a line end inside a sentence is kept, no rows have a header."""
    formats.write([], tmp_path / "none.csv", "csv")
    assert (tmp_path / "none.csv").read_bytes() == b"id,sentence,option1,option2,answer\r\n"
    problem = Problem("p", "A _\nb,\u2028c.", ("x", "y"), 0)
    formats.write([problem], tmp_path / "out.csv", "csv")
    raw = (tmp_path / "out.csv").read_bytes().decode()
    assert raw == 'id,sentence,option1,option2,answer\r\np,"A _\nb,\u2028c.",x,y,1\r\n'
    assert formats.read(tmp_path / "out.csv")[0] == problem


def test_files_of_others_are_read(data_dir: Path) -> None:
    """A table of predictions on WinoGrande's dev set has that set's problems, by their qIDs."""
    table = formats.read(
        data_dir / "winogrande_predictions/cuichenx_dev_preds.csv", skip_bad="/dev/null"
    )
    dev = formats.read(data_dir / "winogrande/dev.jsonl")
    assert [(p.id, p.sentence, p.options, p.answer) for p in table] == [
        (p.id, p.sentence, p.options, p.answer) for p in dev
    ]


def test_a_table_and_records_are_one_data_set(tmp_path: Path) -> None:
    """Records may have numbers and null where a table has texts and empty cells."""
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
def test_numbers_from_the_wrong_start_are_refused(
    tmp_path: Path, row: dict[str, Any], first: int, skip: bool
) -> None:
    """Without the bad records, the others would have the key of the option next to it."""
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
