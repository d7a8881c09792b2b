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


@pytest.fixture(autouse=True)
def _ours(cli: Cli) -> None:
    """Write a file with one twin in our own format."""
    formats.write(TWIN, "ours.jsonl")


def test_claims_are_converted_without_loss(data_dir, cli):
    """SuperGLUE-WSC's 104 val claims become 104 lines of our own format."""
    told = cli.aside(f"convert {data_dir}/superglue_wsc/val.jsonl val.jsonl")
    assert len(Path("val.jsonl").read_text().splitlines()) == 104
    assert "(superglue-wsc), 104 claims" in told
    assert told.endswith("lost: nothing")


def test_fields_without_a_place_in_the_format_are_reported(cli):
    told = cli.aside("convert ours.jsonl out.jsonl --to superglue-wsc --recast claims")
    assert "changed: problem_id in 4 claims" in told
    assert "lost: origin author in 2 problems, twin_id in 2" in told
    assert "lost: nothing" not in told
    told = cli.aside("convert ours.jsonl winogrande --to winogrande")
    assert "lost: origin author in 2 problems" in told


def test_errata_correct_and_confirm_keys(cli):
    Path("errata.csv").write_text(
        "id,old,new,evidence\nt-a,the jug,A,a letter\nt-b,A,A,three judges\n"
    )
    errata = "--errata errata.csv"
    told = cli.told(f"convert ours.jsonl out.jsonl {errata}")
    assert (told["corrected"], told["lost"], told["changed"]) == (1, {}, {})
    assert [problem.answer for problem in formats.read("out.jsonl")] == [0, 0]
    cli(f"convert ours.jsonl claims.jsonl --to superglue-wsc --recast claims {errata}")
    assert json.loads(Path("claims.jsonl").read_text().splitlines()[0])["label"] is True
    for arguments, reason in (
        ("out.jsonl no.jsonl", "errata.csv:2: the key of 't-a' is 'the cup' in the data, not 'the"),
        ("ours.jsonl errata.csv --to csv --force", "--errata must be different files"),
        ("claims.jsonl no.jsonl", "the file contains claims"),
        ("ours.jsonl no --to lm-eval", "--recast, --errata, --with-embargo and --force"),
    ):
        assert reason in cli.refused(f"convert {arguments} {errata}")
    assert not Path("no.jsonl").exists()


@pytest.mark.parametrize(
    ("name", "to"),
    [("out.jsonl", "winosmith"), ("out.wsc.jsonl", "winosmith"), ("OUT.CSV", "csv")],
)
def test_extension_sets_the_format(cli, name, to):
    assert cli.told("convert", "ours.jsonl", name)["to"] == to


def test_existing_output_needs_force(cli):
    Path("out.csv").write_text("mine")
    refused = cli.refused("convert ours.jsonl out.csv")
    assert "exists; choose another name, or add --force" in refused
    assert Path("out.csv").read_text() == "mine"
    cli("convert ours.jsonl out.csv --force")
    assert formats.read("out.csv").ids == ("t-a", "t-b")
    assert "must be different files" in cli.refused("convert ours.jsonl ours.jsonl --force")


def test_recast_of_claims_reports_unused_claims_by_reason(data_dir, cli):
    """82 of 104 claims make 36 problems; the other 22 are written with their lines."""
    source = data_dir / "superglue_wsc/val.jsonl"
    told = cli.aside(f"convert {source} p.jsonl --recast problems --skip-bad left.jsonl")
    assert "15 x it is the only claim of its problem" in told
    assert "36 problems" in told
    records = [json.loads(line) for line in Path("left.jsonl").read_text().splitlines()]
    assert len(records) == 22
    lines = source.read_text().splitlines()
    for record in records:
        candidate = json.loads(record["record"])["candidate"]
        assert json.loads(lines[record["line"] - 1])["target"]["span1_text"] == candidate


def test_skip_bad_omits_claims_whose_candidate_is_not_in_text(data_dir, cli):
    """Such claims have no span."""
    source = data_dir / "wsc/WSCollection.xml"
    command = f"convert {source} c.jsonl --to superglue-wsc --recast claims"
    assert "does not contain the candidate 'The teller'; add --skip-bad" in cli.refused(command)
    assert not Path("c.jsonl").exists()
    for _ in range(2):  # the list of omitted records is replaced, as by other commands
        assert "left over: 8 records" in cli.aside(f"{command} --force --skip-bad left.jsonl")
    assert len(formats.read_claims("c.jsonl")) == 2 * 285 - 8


NO_BLANK = "sentence,option1,option2,answer\nno blank,x,y,1\n"

SEVERAL = {"id": "a", "qID": "A-1", "sentence": "A _ b.", "options": ["x", "y"], "option1": "x",
           "option2": "y"}  # fmt: skip
"""A record in either of two formats."""


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("ours.jsonl --recast problems",
         "the file already contains problems; omit --recast problems"),
        ("ours.jsonl --to superglue-wsc",
         "'superglue-wsc' stores only claims; convert the other items"),
        ("ours.jsonl --from copa-xml", "the XML is not well-formed"),
        ("ours.jsonl --to wsc-xml",
         "'wsc-xml' is not one of 'winosmith', 'csv', 'winogrande', 'superg"),
        ("ours.jsonl --skip-bad out.csv", "must be different files"),
        ("no-blank.csv --skip-bad bad.jsonl",
         "no records are left to write (1 x the sentence has no blanks"),
        ("several.jsonl",
         "several formats fit its content; name one with --from (winosmith, csv)"),
    ],
)  # fmt: skip
def test_impossible_conversions_are_refused(cli, arguments, told):
    Path("no-blank.csv").write_text(NO_BLANK)
    Path("several.jsonl").write_text(json.dumps(SEVERAL) + "\n")
    source, *more = arguments.split()
    assert told in cli.refused("convert", source, "out.csv", *more)
    assert not Path("out.csv").exists()
