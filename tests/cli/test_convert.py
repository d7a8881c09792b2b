"""`winosmith convert` reads and writes all formats, and reports every loss."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from winosmith import Origin, Problem, formats

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
    """Return the path of a file with one twin in our own format."""
    formats.write(TWIN, tmp_path / "ours.jsonl")
    return tmp_path / "ours.jsonl"


def test_claims_are_converted_without_loss(data_dir: Path, tmp_path: Path, cli: Cli) -> None:
    """SuperGLUE-WSC's 104 val claims become 104 lines of our own format."""
    out = tmp_path / "val.jsonl"
    told = cli.aside("convert", data_dir / "superglue_wsc/val.jsonl", out)
    assert len(out.read_text().splitlines()) == 104
    assert "(superglue-wsc), 104 claims" in told
    assert told.endswith("lost: nothing")


def test_fields_without_a_place_in_the_format_are_reported(
    ours: Path, tmp_path: Path, cli: Cli
) -> None:
    out = tmp_path / "out.jsonl"
    told = cli.aside("convert", ours, out, "--to", "superglue-wsc", "--recast", "claims")
    assert "changed: problem_id in 4 claims" in told
    assert "lost: origin author in 2 problems, twin_id in 2" in told
    assert "lost: nothing" not in told
    told = cli.aside("convert", ours, tmp_path / "winogrande", "--to", "winogrande")
    assert "lost: origin author in 2 problems" in told


def test_errata_correct_and_confirm_keys(ours: Path, tmp_path: Path, cli: Cli) -> None:
    errata, out = tmp_path / "errata.csv", tmp_path / "out.jsonl"
    errata.write_text("id,old,new,evidence\nt-a,the jug,A,a letter\nt-b,A,A,three judges\n")
    told = cli.told("convert", ours, out, "--errata", errata)
    assert (told["corrected"], told["lost"], told["changed"]) == (1, {}, {})
    assert [problem.answer for problem in formats.read(out)] == [0, 0]
    again = cli.refused("convert", out, tmp_path / "again.jsonl", "--errata", errata)
    assert "errata.csv:2: the key of 't-a' is 'the cup' in the data, not 'the jug'" in again
    assert not (tmp_path / "again.jsonl").exists()
    assert "--errata must be different files" in cli.refused(
        "convert", ours, errata, "--to", "csv", "--errata", errata, "--force"
    )
    claims = tmp_path / "claims.jsonl"
    cli("convert", ours, claims, "--to", "superglue-wsc", "--recast", "claims", "--errata", errata)
    assert json.loads(claims.read_text().splitlines()[0])["label"] is True
    asked = ("convert", claims, tmp_path / "x.jsonl", "--errata", errata)
    assert "the file contains claims" in cli.refused(*asked)
    harness = ("convert", ours, tmp_path / "task", "--to", "lm-eval", "--errata", errata)
    assert "--recast, --errata, --with-embargo and --force" in cli.refused(*harness)


@pytest.mark.parametrize(
    ("name", "to"),
    [
        ("out.jsonl", "winosmith"),
        ("out.wsc.jsonl", "winosmith"),
        ("OUT.CSV", "csv"),
    ],
)
def test_extension_sets_the_format(
    ours: Path, tmp_path: Path, cli: Cli, name: str, to: str
) -> None:
    assert cli.told("convert", ours, tmp_path / name)["to"] == to


def test_existing_output_needs_force(ours: Path, tmp_path: Path, cli: Cli) -> None:
    out = tmp_path / "out.csv"
    out.write_text("mine")
    assert "exists; choose another name, or add --force" in cli.refused("convert", ours, out)
    assert out.read_text() == "mine"
    cli("convert", ours, out, "--force")
    assert formats.read(out).ids == ("t-a", "t-b")
    assert "must be different files" in cli.refused("convert", ours, ours, "--force")


def test_recast_of_claims_reports_unused_claims_by_reason(
    data_dir: Path, tmp_path: Path, cli: Cli
) -> None:
    """82 of 104 claims make 36 problems; the other 22 are written with their lines."""
    source, left = str(data_dir / "superglue_wsc/val.jsonl"), tmp_path / "left.jsonl"
    out = str(tmp_path / "p.jsonl")
    told = cli.aside("convert", source, out, "--recast", "problems", "--skip-bad", left)
    assert "15 x it is the only claim of its problem" in told
    assert "36 problems" in told
    records = [json.loads(line) for line in left.read_text().splitlines()]
    assert len(records) == 22
    lines = (data_dir / "superglue_wsc/val.jsonl").read_text().splitlines()
    for record in records:
        candidate = json.loads(record["record"])["candidate"]
        assert json.loads(lines[record["line"] - 1])["target"]["span1_text"] == candidate


def test_skip_bad_omits_claims_whose_candidate_is_not_in_text(
    data_dir: Path, tmp_path: Path, cli: Cli
) -> None:
    """Such claims have no span."""
    source, out = str(data_dir / "wsc/WSCollection.xml"), tmp_path / "c.jsonl"
    command = ["convert", source, str(out), "--to", "superglue-wsc", "--recast", "claims"]
    assert "does not contain the candidate 'The teller'; add --skip-bad" in cli.refused(*command)
    assert not out.exists()
    assert "left over: 8 records" in cli.aside(*command, "--skip-bad", tmp_path / "left.jsonl")
    assert len(formats.read_claims(out)) == 2 * 285 - 8


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--recast", "problems"], "the file already contains problems; omit --recast problems"),
        (
            ["--to", "superglue-wsc"],
            "'superglue-wsc' stores only claims; convert the other items",
        ),
        (["--from", "copa-xml"], "the XML is not well-formed"),
        (["--to", "wsc-xml"], "'wsc-xml' is not one of 'winosmith', 'csv', 'winogrande', 'superg"),
        (["--skip-bad", "out.csv"], "must be different files"),
    ],
)
def test_impossible_conversions_are_refused(
    ours: Path,
    tmp_path: Path,
    cli: Cli,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    told: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert told in cli.refused("convert", ours, "out.csv", *arguments)
    assert not (tmp_path / "out.csv").exists()


def test_conversion_without_valid_records_is_refused(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "in.csv").write_text("sentence,option1,option2,answer\nno blank,x,y,1\n")
    command = ["convert", str(tmp_path / "in.csv"), str(tmp_path / "out.jsonl")]
    assert "no records are left to write (1 x the sentence has no blanks" in cli.refused(
        *command, "--skip-bad", tmp_path / "bad.jsonl"
    )
    assert not (tmp_path / "out.jsonl").exists()


def test_ambiguous_format_is_refused_with_candidates(tmp_path: Path, cli: Cli) -> None:
    record = {"id": "a", "qID": "A-1", "sentence": "A _ b.", "options": ["x", "y"]}
    record |= {"option1": "x", "option2": "y"}
    (tmp_path / "in.jsonl").write_text(json.dumps(record) + "\n")
    command = ["convert", str(tmp_path / "in.jsonl"), str(tmp_path / "out.csv")]
    assert "several formats fit its content; name one with --from (winosmith, csv)" in cli.refused(
        *command
    )
