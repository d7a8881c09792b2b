"""`winosmith audit` of many small files, and in reviews of changes to them."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from tests.cli.conftest import Cli
from winosmith import audit, escape
from winosmith.audit import Finding
from winosmith.audit._findings import RULES

WORDS = ("forests", "harbours", "teachers", "markets", "bridges", "engines", "gardens", "rivers")

AUDIT = ("audit", "units", "--pool", "--no-probes", "--draws", 99)

RULED = ("--fail-on", "cue=3pt,duplicates,options")


def _make_quiz(unit: int, end: str = ", as unit {} explains") -> list[dict[str, Any]]:
    """Return five items whose correct option is the longest."""
    questions = []
    for n in range(5):
        options = [WORDS[(unit * 3 + n * 5 + at) % 8] for at in range(4)]
        options[(unit + n) % 4] += end.format(unit)
        questions.append({"question": f"What is {n} of {unit * unit + n}?", "options": options,
                          "correct": (unit + n) % 4})  # fmt: skip
    return questions


@pytest.fixture
def unit(cli: Cli) -> Path:
    """Write ten quizzes; return the path of the last one."""
    Path("units").mkdir()
    for unit in range(10):
        Path(f"units/{unit}.json").write_text(json.dumps(_make_quiz(unit), indent=2))
    return Path("units/9.json")


@pytest.fixture
def units(cli: Cli) -> list[Path]:
    """Write 20 quizzes with the same ids, each into its own folder; return their paths."""
    paths = [Path(f"units/unit-{unit:02}/quiz.json") for unit in range(20)]
    for unit, path in enumerate(paths):
        quiz = _make_quiz(unit, ", as the text of unit {} explains at length")
        quiz = [{"id": f"q{n}"} | question for n, question in enumerate(quiz)]
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps({"questions": quiz}, indent=2))
    return paths


def _change(unit: Path, *added: dict[str, Any], first: bool = False) -> None:
    questions = json.loads(unit.read_text())
    questions = [*added, *questions] if first else [*questions, *added]
    unit.write_text(json.dumps(questions, indent=2))


NEW = {"question": "What is new in the last unit?", "options": ["ab", "cd", "ef", "gh"],
       "correct": 0}  # fmt: skip
EQUAL = {"question": "Which of these is equal?", "options": ["Ab", "ab.", "ef", "gh"], "correct": 2}


def test_findings_annotate_the_lines_of_their_items(cli, unit):
    copied = json.loads(Path("units/0.json").read_text())[1]
    _change(unit, EQUAL, copied)
    printed = cli(*AUDIT, *RULED, "--annotate", "github", code=1)
    errors = dict(re.findall(r"^::error title=winosmith: (\w+),(.*?)::", printed, re.MULTILINE))
    assert set(errors) == {"cue", "duplicates", "options"}
    line = int(errors["duplicates"].removeprefix("file=units/9.json,line="))
    shown = "\n".join(unit.read_text().splitlines()[line - 1 : line + 2])
    assert copied["question"] in shown
    cli("audit", Path("units").absolute(), *AUDIT[2:], *RULED, "--annotate", "github", code=1)


def test_only_new_findings_break_rules(cli, unit):
    """Known findings stay known if their lines move or their file is renamed."""
    _change(unit, EQUAL)
    Path("old.json").write_text(cli(*AUDIT, *RULED, "--json", code=1))
    since = (*RULED, "--baseline", "old.json")
    _change(unit, NEW, first=True)
    moved = unit.rename("units/later.json")
    assert "No new findings" not in cli(*AUDIT, *since)
    assert json.loads(cli(*AUDIT, *since, "--json"))["broken"] == []
    _change(moved, NEW, EQUAL | {"question": "Which of those is equal?"})
    broken = json.loads(cli(*AUDIT, *since, "--json", code=1))["broken"]
    assert [re.sub(r"json:\d+", "json", one) for one in broken] == [
        "units: item units/later.json is identical to item units/later.json",
        "units: units/later.json has options that differ at most in case or final punctuation",
    ]


def test_cue_that_grows_beyond_its_rule_is_new(cli, unit):
    old = json.loads(cli(*AUDIT, "--json"))
    for one in old["findings"]:
        if one["rule"] == "cue":
            one["points"] = 0.02
    Path("old.json").write_text(json.dumps(old))
    assert "Broken: units: “the longest" in cli.aside(
        *AUDIT, "--fail-on", "cue=3pt", "--baseline", "old.json", code=1
    )
    cli(*AUDIT, "--fail-on", "cue=2pt", "--baseline", "old.json")


def test_sarif_meets_the_needs_of_code_scanning(cli, unit):
    _change(unit, EQUAL, EQUAL | {"question": "Which of [those](x) is {equal}?"})
    found = []
    for _ in range(2):
        cli(*AUDIT, *RULED, "--sarif", "found.sarif", code=1)
        found.append(json.loads(Path("found.sarif").read_text()))
        _change(unit, NEW, first=True)
        NEW["question"] += " And now?"
    for log in found:
        assert (log["version"], len(log["runs"])) == ("2.1.0", 1)
        rules = log["runs"][0]["tool"]["driver"]["rules"]
        assert all(rule["shortDescription"]["text"] for rule in rules)
        for result in log["runs"][0]["results"]:
            assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
            place = result["locations"][0]["physicalLocation"]
            assert Path(place["artifactLocation"]["uri"]).is_file()
            assert place["region"]["startLine"] >= 1
            assert result["level"] in ("error", "warning", "note")
    (before, lines), (after, moved) = map(_equal_options, found)
    assert before == after
    assert len(set(before)) == len(before) == 2
    assert lines != moved


def _equal_options(log: Any) -> tuple[list[str], list[int]]:
    """Return the fingerprints and the lines of the items with equal options."""
    results = [one for one in log["runs"][0]["results"] if one["ruleId"] == "options"]
    places = [one["locations"][0]["physicalLocation"]["region"] for one in results]
    prints = [one["partialFingerprints"]["primaryLocationLineHash"] for one in results]
    return prints, [place["startLine"] for place in places]


def test_summary_counts_new_findings(cli, unit, monkeypatch):
    summary, outputs = Path("summary.md"), Path("outputs.txt")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    monkeypatch.setenv("GITHUB_OUTPUT", str(outputs))
    summary.write_text("before\n")
    _change(unit, EQUAL | {"question": "Is <b>this</b> | equal?"})
    cli(*AUDIT, *RULED, "--annotate", "github", code=1)
    count = int(outputs.read_text().removeprefix("findings="))
    lines = summary.read_text().splitlines()
    assert lines[0] == "before"
    assert sum(line.startswith(("| error", "| warning", "| note")) for line in lines) == count
    Path("old.json").write_text(cli(*AUDIT, "--json"))
    cli(*AUDIT, "--annotate", "github", "--baseline", "old.json")
    assert summary.read_text().endswith("\n\nNo new findings.\n")
    one = audit.format_job_summary("quiz", "sound", [])
    assert one == "### quiz\n\nsound\n\nNo findings.\n"


def test_data_can_not_run_github_commands(cli, unit):
    """The audit's output is between tokens that stop commands; annotations follow them."""
    hidden = "::add-mask::x\n::warning::planted"
    _change(unit, EQUAL | {"question": hidden, "options": ["::debug::a", "::DEBUG::A", "b", "c"]})
    printed = cli(*AUDIT, *RULED, "--annotate", "github", code=1).splitlines()
    token = printed[0].removeprefix("::stop-commands::")
    assert re.fullmatch("[0-9a-f]{32}", token)
    after = printed[printed.index(f"::{token}::") + 1 :]
    assert after
    assert all(re.match("::(error|warning|notice) title=winosmith: ", line) for line in after)


@given(st.text(), st.text(min_size=1))
def test_annotation_is_one_command_with_any_text(text, path):
    one = Finding("warning", "options", "quiz", text, path, 3, "")
    (line,) = audit.format_annotations([one])
    assert len(line.splitlines()) <= 1
    command, _, message = line[2:].partition("::")
    keys = dict(key.split("=", 1) for key in command.partition(" ")[2].split(","))
    read = {"%0D": "\r", "%0A": "\n", "%3A": ":", "%2C": ",", "%25": "%"}

    def decoded(value: str) -> str:
        return re.sub("%(0D|0A|3A|2C|25)", lambda found: read[found[0]], value)

    def plain(value: str) -> str:
        return escape.escape_terminal(value.replace("\r", "")).replace("\r", "")

    assert decoded(message).replace("\r", "") == plain(text)
    assert decoded(keys["file"]).replace("\r", "") == plain(path)


def test_invalid_baselines_and_output_paths_are_refused(cli, unit):
    worded = '{"splits": {}, "findings": [{"id": "a", "points": "x"}]}'
    for text in ("[]", "{}", '{"splits": {}, "findings": [1]}', "not JSON", worded):
        Path("old.json").write_text(text)
        assert "old.json: the file is not an audit's JSON output; make it with" in cli.refused(
            *AUDIT, "--baseline", "old.json"
        )
    assert "--annotate prints GitHub commands" in cli.refused(
        *AUDIT, "--annotate", "github", "--json"
    )
    assert "--sarif would overwrite the input" in cli.refused(
        "audit", "old.json", "--sarif", "old.json"
    )
    before = unit.read_bytes()
    for measurement in ("--annotate github", "--fail-on leak"):
        assert "measures nothing" in cli.refused(f"audit units --fix {measurement}")
    assert unit.read_bytes() == before


def test_every_rule_has_a_title():
    assert all(RULES.values())
    names = {name for name, _ in audit.parse_rules(",".join(
        f"{name}=1" if name in ("cue", "probe") else name for name in RULES if name != "shared"
    ))}  # fmt: skip
    assert names == set(RULES) - {"shared"}


def test_pool_audits_many_files_as_one_data_set(cli, units):
    questions = json.loads(units[0].read_text())
    questions["questions"].append(questions["questions"][1] | {"id": "copy"})
    units[0].write_text(json.dumps(questions, indent=2))
    words = ("audit", "units/**/quiz.json", "--pool", "--no-probes", "--draws", 99)
    found = cli.told(*words)
    [split] = found["splits"].values()
    assert split["items"] == 101
    assert "the longest, in characters" in found["verdict"]
    assert "units/unit-00/quiz.json:" in cli(*words)
    assert found == cli.told("audit", "units", *words[2:])


def test_many_files_without_pool_are_a_table(cli, units):
    told = cli("audit", *units, "--no-probes", "--draws", 99, "--answer-is", 0)
    assert "of 20 files have a cue that gives answers away (expected by chance: about 1)" in told
    rows = [line for line in told.splitlines() if "the longest, in" in line]
    assert len(rows) >= 20
    assert "units/unit-19" in told
    cli("audit", *units[:5], "--no-probes", "--draws", 19, "--answer-is", 0, "--out", "audit.html")
    assert "<h1>Audit of 5 files</h1>" in Path("audit.html").read_text()


def test_ambiguous_first_index_is_reported_with_its_option(cli, units):
    """Two keys don't show whether they count from 0 or 1."""
    quiz = json.loads(units[0].read_text())
    units[0].write_text(json.dumps({"questions": quiz["questions"][1:3]}))
    refused = cli.refused("audit", *units[:2], "--no-probes")
    assert "Choose one with --answer-is 0 or --answer-is 1" in refused
    assert "or read all files as one data set, with --pool" in refused


def test_worklist_names_files_and_lines(cli, units):
    """The key is the longest option in all 100 items: 75 more than by chance."""
    cli("audit", "units", "--pool", "--no-probes", "--draws", 19, "--todo", "work.md")
    boxes = [line for line in Path("work.md").read_text().splitlines() if line.startswith("- [ ]")]
    assert len(boxes) == 75
    assert boxes[0].startswith("- [ ] units/unit-")


def test_worklist_does_not_overwrite_an_input(cli, units):
    """A file that is given twice counts once."""
    assert "--todo would overwrite the input" in cli.refused(
        "audit", units[0], units[1], "--pool", "--todo", units[0]
    )
    told = cli("audit", "units", Path("units").absolute() / "unit-00/quiz.json", "--fix", "--json")
    assert len(json.loads(told)["files"]) == 20
