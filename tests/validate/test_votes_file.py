"""Files of responses are read correctly, and errors name the file and line."""

import contextlib
import csv
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from winosmith import Response
from winosmith.errors import FormatError
from winosmith.validate import read_votes, write_votes

texts = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
responses = st.lists(
    st.builds(
        Response,
        texts | st.sampled_from(["=1+1", "-1", "@x", "'=x", "''", "\t", '"', "a,b", "a\r\nb"]),
        texts.map(str.strip).filter(bool),
        st.sampled_from(["local", "validate", "test"]),
        st.none() | st.integers(0, 4),
        st.booleans(),
        st.booleans(),
        st.integers(0, 5).flatmap(lambda n: st.permutations(range(n)).map(tuple)),
        st.none() | st.floats(0, 1e9),
    ),
    min_size=1,
    max_size=5,
)


@given(responses)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@pytest.mark.parametrize("name", ["votes.csv", "votes.jsonl"])
def test_writing_and_reading_responses_is_a_round_trip(
    tmp_path: Path, name: str, given: list[Response]
) -> None:
    write_votes(given, tmp_path / name)
    assert read_votes(tmp_path / name) == tuple(given)


@given(responses)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_cells_are_never_formulas(tmp_path: Path, given: list[Response]) -> None:
    write_votes(given, tmp_path / "votes.csv")
    with (tmp_path / "votes.csv").open(newline="", encoding="utf-8") as file:
        assert not [cell for row in csv.reader(file) for cell in row if cell[:1] in set("=+-@\t\r")]


def read(tmp_path: Path, text: str | bytes) -> tuple[Response, ...]:
    """Return the responses in a file with this text."""
    path = tmp_path / "votes"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_votes(path)


def test_table_with_three_columns_is_read(tmp_path: Path) -> None:
    """In CSV, choices count from 1."""
    found = read(tmp_path, "participant,problem_id,choice\nann,p,2\nbob,p,\n")
    assert found == (Response("p", "ann", "validate", 1), Response("p", "bob", "validate"))


@pytest.mark.parametrize("name", ["w1 ", " w1", "\u00a0w1", "w1\t"])
def test_white_space_around_a_judges_name_is_ignored(tmp_path: Path, name: str) -> None:
    """Otherwise the same person would count as two judges."""
    record = '{"problem_id":"a","participant":"%s","purpose":"test"}\n'
    for text in (f"problem_id,participant,choice\na,{name},1\n", record % name.replace("\t", " ")):
        assert [one.participant for one in read(tmp_path, text)] == ["w1"]


def test_csv_variants_of_spreadsheets_are_read(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        b'\xef\xbb\xbf"problem_id",participant, choice ,ambiguous,associative\r\n'
        b"p,ann, 1 ,TRUE,no\r\n,,,,\r\n\r\np,bob,2,yes,0\r\n",
    )
    assert [(r.choice, r.ambiguous, r.associative) for r in found] == [
        (0, True, False),
        (1, True, False),
    ]


def test_votes_from_excel_pandas_and_r_are_read(tmp_path: Path) -> None:
    """Semicolons may separate cells; numbers may have decimals, and gaps may be NA or nan."""
    table = "sep=;\nproblem_id;participant;choice\np;ann;2.0\np;bob;NA\np;eve;nan\n"
    assert [response.choice for response in read(tmp_path, table)] == [1, None, None]
    found = read(tmp_path, HEAD + "p,ann,#N/A,,NA,,nan\np,bob,<NA>,,,,NA\np,eve,na,,,,\n")
    assert {(one.choice, one.ambiguous, one.seconds) for one in found} == {(None, False, None)}


def test_choices_in_json_lines_count_from_0(tmp_path: Path) -> None:
    line = '{"problem_id": "p", "participant": "ann", "purpose": "local", "choice": 1'
    assert read(tmp_path, line + ', "shown": [1, 0]}') == (
        Response("p", "ann", "local", 1, shown=(1, 0)),
    )


@pytest.mark.parametrize("choice", ["1.0", '"B"', '" b "', "1"])
def test_choices_may_be_letters(tmp_path: Path, choice: str) -> None:
    found = read(tmp_path, "problem_id,participant,choice,shown\np,ann,B,b A\n")
    assert found == (Response("p", "ann", "validate", 1, shown=(1, 0)),)
    line = f'{{"problem_id": "p", "participant": "ann", "purpose": "test", "choice": {choice}}}'
    assert read(tmp_path, line) == (Response("p", "ann", "test", 1),)


HEAD = "problem_id,participant,choice,purpose,ambiguous,shown,seconds\n"
JSON = '{"problem_id": "p", "participant": "ann", "purpose": "test"'


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "votes: the file is empty"),
        (" \n", "votes: the file is empty"),
        (b"\xff\xfep\x00", "votes:1: the text is not UTF-8; save it as UTF-8 first"),
        (HEAD.encode() + b"p,ann\xe9,1,,,,\n", "votes:2: the text is not UTF-8"),
        ("problem_id,choice\np,1\n", "votes:1: 'participant' is missing"),
        ("problem_id|participant|choice\n", "votes:1: 'problem_id' is missing"),
        (HEAD.replace("choice", "choise"), "votes:1: 'choice' is missing"),
        (HEAD[:-1] + ",answer\n", "votes:1: the column 'answer' is unknown; the columns are"),
        (HEAD[:-1] + ",choice\n", "votes:1: the column 'choice' occurs twice"),
        (HEAD + "p,ann,1\n", "votes:2: the row has 3 cells; the header has 7"),
        (
            HEAD + "p,ann,0,,,,\n",
            "votes:2: '0' is not an option; write a letter (A for the first option) or a number",
        ),
        (HEAD + "p,ann,X,,,,\n", "votes:2: 'X' is not an option"),
        (HEAD + "p,ann,1.5,,,,\n", "votes:2: '1.5' is not an option"),
        (HEAD + "p,ann,1,,,,\n\np,bob,1,fun,,,\n", "votes:4: unknown purpose 'fun'; use local"),
        (HEAD + '"p\nq",ann,1,,,,\np,b,1,,maybe,,\n', "votes:4: ambiguous is 'maybe'; it must be"),
        (HEAD + "p,ann,1,,,1 1,\n", "votes:2: the order (0, 0) is not a permutation"),
        (HEAD + "p,ann,1,,,,soon\n", "votes:2: seconds is 'soon'; it must be a number or empty"),
        (HEAD + "p,ann,1,,,,inf\n", "votes:2: the response time is inf s; it must be 0 or more"),
        (HEAD + ",ann,1,,,,\n", "votes:2: a response needs the ids of its problem"),
        (HEAD + '"p,ann,1,,,,\n', "votes:2: this is not a row of a table"),
        ("{}", "votes:1: 'problem_id' is missing"),
        (JSON, "votes:1: the line is not JSON"),
        (JSON + "}\n[1]", "votes:2: the line is not a JSON object"),
        (JSON + ', "answer": 1}', "votes:1: the column 'answer' is unknown"),
        (
            JSON + ', "choice": "1"}',
            'votes:1: choice can\'t be "1"; write a letter (A for the first',
        ),
        (JSON + ', "choice": 1.5}', "votes:1: choice can't be 1.5; write a letter"),
        (JSON + ', "choice": "X"}', "votes:1: 'X' is not an option"),
        (JSON + ', "choice": true}', "votes:1: choice can't be true"),
        (JSON + ', "ambiguous": 1}', "votes:1: ambiguous can't be 1"),
        (JSON + ', "shown": "21"}', 'votes:1: shown can\'t be "21"'),
        (JSON + ', "choice": -1}', "votes:1: the choice is -1; it must be an index or None"),
        ("[" * 99_999, "votes:1: the line is not JSON"),
    ],
)
def test_invalid_file_is_reported_with_line_and_reason(
    tmp_path: Path, text: str | bytes, reason: str
) -> None:
    with pytest.raises(FormatError) as told:
        read(tmp_path, text)
    assert str(told.value).startswith(f"{tmp_path}/{reason}")


def test_missing_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="No such file"):
        read_votes(tmp_path / "none.csv")


@given(st.text())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_any_text_is_read_or_refused(tmp_path: Path, text: str) -> None:
    with contextlib.suppress(FormatError):
        found = read(tmp_path, HEAD.encode() + text.encode("utf-8", "surrogatepass"))
        assert all(isinstance(response, Response) for response in found)
