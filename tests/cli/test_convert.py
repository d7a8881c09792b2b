"""`winosmith convert`: any format in, any format out, and nothing lost in silence."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from winosmith import Origin, Problem, formats
from winosmith.cli import main

TWIN = [
    Problem(
        f"t-{half}",
        f"The cup hit the jug and _ {verb}.",
        ("the cup", "the jug"),
        answer,
        twin_id="t",
        pronoun="it",
        origin=Origin(author="c1"),
    )
    for half, verb, answer in (("a", "broke", 1), ("b", "bounced", 0))
]


@pytest.fixture
def ours(tmp_path: Path) -> Path:
    """Return a file with one twin in our own format."""
    formats.write(TWIN, tmp_path / "ours.jsonl")
    return tmp_path / "ours.jsonl"


def test_a_file_of_claims_has_a_line_for_each(
    data_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """SuperGLUE-WSC's 104 val claims become 104 lines of our own format, losing nothing."""
    out = tmp_path / "val.jsonl"
    assert main(["convert", str(data_dir / "superglue_wsc/val.jsonl"), str(out)]) == 0
    assert len(out.read_text().splitlines()) == 104
    told = capsys.readouterr().err
    assert "(superglue-wsc), 104 claims" in told
    assert told.endswith("lost: nothing\n")


def test_what_the_format_can_not_hold_is_told(
    ours: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each field that did not come back is named with its count."""
    out = tmp_path / "out.jsonl"
    assert (
        main(["convert", str(ours), str(out), "--to", "superglue-wsc", "--recast", "claims"]) == 0
    )
    told = capsys.readouterr().err
    assert "changed: problem_id in 4 claims" in told
    out = tmp_path / "out.txt"
    assert main(["convert", str(ours), str(out)]) == 0
    assert "lost: origin author in 2 problems" in capsys.readouterr().err


def test_the_report_is_json_too(
    ours: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With --json the counts are there for a program."""
    assert main(["convert", str(ours), str(tmp_path / "out.txt"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "from": "winosmith",
        "to": "dpr",
        "notes": [],
        "read": 2,
        "left_over": {},
        "embargoed": 0,
        "written": 2,
        "lost": {"origin author": 2},
        "changed": {"id": 2},
        "added": {},
    }


@pytest.mark.parametrize(
    ("name", "to"),
    [
        ("out.jsonl", "winosmith"),
        ("out.wsc.jsonl", "winosmith"),
        ("OUT.CSV", "csv"),
        ("o.txt", "dpr"),
    ],
)
def test_the_ending_tells_the_format(
    ours: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, to: str
) -> None:
    """.jsonl is always our own format, .csv a plain table, .txt DPR's."""
    assert main(["convert", str(ours), str(tmp_path / name), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["to"] == to


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (
            "out.xml",
            "several formats have the ending .xml; name one with --to (wsc-xml, pdp-xml, c",
        ),
        ("out", "its ending tells no format; name one with --to (winosmith, csv, winogrande"),
    ],
)
def test_an_ending_that_tells_nothing_is_refused(
    ours: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, told: str
) -> None:
    """Where the ending fits several formats or none, the names to choose from are listed."""
    assert main(["convert", str(ours), str(tmp_path / name)]) == 2
    assert told in capsys.readouterr().err
    assert not (tmp_path / name).exists()


def test_a_file_is_overwritten_only_by_force(
    ours: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An existing OUT stays as it is, unless --force is given; IN is never OUT."""
    out = tmp_path / "out.csv"
    out.write_text("mine")
    assert main(["convert", str(ours), str(out)]) == 2
    assert "exists; choose another name, or add --force" in capsys.readouterr().err
    assert out.read_text() == "mine"
    assert main(["convert", str(ours), str(out), "--force"]) == 0
    assert formats.read(out).ids == ("t-a", "t-b")
    assert main(["convert", str(ours), str(ours), "--force"]) == 2
    assert "must be different files" in capsys.readouterr().err


def test_bad_records_end_the_command_or_are_set_aside(
    data_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """KnowRef's two bad records stop it with file, line, reason; --skip-bad keeps them apart."""
    source, out, bad = (
        str(data_dir / "knowref/knowref_test.json"),
        tmp_path / "k.jsonl",
        tmp_path / "b",
    )
    assert main(["convert", source, str(out)]) == 2
    told = capsys.readouterr().err
    assert re.search(r"knowref_test\.json:239: two options are equal: .*add --skip-bad FILE", told)
    assert not out.exists()
    assert main(["convert", source, str(out), "--skip-bad", str(bad)]) == 0
    assert f"left over: 2 records, in {bad}" in capsys.readouterr().err
    assert len(formats.read(out)) == 1267
    assert [json.loads(line)["line"] for line in bad.read_text().splitlines()] == [239, 478]


def test_claims_become_problems_and_the_rest_is_named(
    data_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of 104 claims 82 make 36 problems; the other 22 are told by reason, with their lines."""
    source, left = str(data_dir / "superglue_wsc/val.jsonl"), tmp_path / "left.jsonl"
    out = str(tmp_path / "p.jsonl")
    assert main(["convert", source, out, "--recast", "problems", "--skip-bad", str(left)]) == 0
    told = capsys.readouterr().err
    assert "  15 x it is the only claim of its problem" in told
    assert "36 problems" in told
    records = [json.loads(line) for line in left.read_text().splitlines()]
    assert len(records) == 22
    lines = (data_dir / "superglue_wsc/val.jsonl").read_text().splitlines()
    for record in records:
        candidate = json.loads(record["record"])["candidate"]
        assert json.loads(lines[record["line"] - 1])["target"]["span1_text"] == candidate


def test_what_does_not_fit_is_set_aside_too(
    data_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Claims whose candidate is not in the text have no span: they are named or set aside."""
    source, out = str(data_dir / "wsc/WSCollection.xml"), tmp_path / "c.jsonl"
    command = ["convert", source, str(out), "--to", "superglue-wsc", "--recast", "claims"]
    assert main(command) == 2
    assert "does not hold the candidate 'The teller'; add --skip-bad" in capsys.readouterr().err
    assert not out.exists()
    assert main([*command, "--skip-bad", str(tmp_path / "left.jsonl")]) == 0
    assert "left over: 8 records" in capsys.readouterr().err
    assert len(formats.read_claims(out)) == 2 * 285 - 8


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--recast", "problems"], "the file holds problems already; leave out --recast problems"),
        (
            ["--to", "superglue-wsc"],
            "'superglue-wsc' holds claims alone; turn the others into them",
        ),
        (["--from", "copa-xml"], "the XML is not well-formed"),
        (["--to", "excel"], "'excel' is not one of"),
        (["--skip-bad", "out.csv"], "must be different files"),
    ],
)
def test_bad_input_ends_with_code_2(
    ours: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    told: str,
) -> None:
    """A wish that can't be met is told in one line, and no file is written."""
    monkeypatch.chdir(tmp_path)
    assert main(["convert", str(ours), "out.csv", *arguments]) == 2
    assert told in capsys.readouterr().err
    assert not (tmp_path / "out.csv").exists()


def test_nothing_left_to_write_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """When every record is bad, no empty file is written."""
    (tmp_path / "in.csv").write_text("sentence,option1,option2,answer\nno blank,x,y,1\n")
    command = ["convert", str(tmp_path / "in.csv"), str(tmp_path / "out.jsonl")]
    assert main([*command, "--skip-bad", str(tmp_path / "bad.jsonl")]) == 2
    assert "no record is left to write (1 x the sentence has no blanks" in capsys.readouterr().err
    assert not (tmp_path / "out.jsonl").exists()


def test_a_file_that_fits_two_formats_names_both(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """When a file bears the signs of two formats, both are named; --from settles it."""
    record = {"id": "a", "qID": "A-1", "sentence": "A _ b.", "options": ["x", "y"]}
    record |= {"option1": "x", "option2": "y"}
    (tmp_path / "in.jsonl").write_text(json.dumps(record) + "\n")
    command = ["convert", str(tmp_path / "in.jsonl"), str(tmp_path / "out.csv")]
    assert main(command) == 2
    assert (
        "more than one format fits its content; name one with --from (winosmith, winogrande)"
        in (capsys.readouterr().err)
    )


def test_the_help_names_every_format(capsys: pytest.CaptureFixture[str]) -> None:
    """The help lists all formats with a line each."""
    assert main(["convert", "--help"]) == 0
    shown = capsys.readouterr().out
    assert all(f"\n    {known.name} " in shown for known in formats.FORMATS)


def test_a_recast_into_claims_tells_that_the_twins_are_lost(
    ours: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Claims have no place for the twin of their problem, and the command says so."""
    out = tmp_path / "claims.jsonl"
    command = ["convert", str(ours), str(out), "--to", "superglue-wsc", "--recast", "claims"]
    assert main(command) == 0
    told = capsys.readouterr().err
    assert "lost: origin author in 2 problems, twin_id in 2" in told
    assert "lost: nothing" not in told
