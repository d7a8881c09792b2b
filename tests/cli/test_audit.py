"""`winosmith audit`: a verdict, a page, JSON, and an exit code for CI."""

import json
import re
from html import unescape
from pathlib import Path

import pytest

from tests import forking
from tests.cli.conftest import Cli
from tests.web import serving
from tests.web.conftest import prepared_site  # noqa: F401
from winosmith import Problem, formats

QUICK = "--draws 19 --no-probes"


@pytest.fixture
def longest(cli: Cli) -> Path:
    """Write a file whose longest option is always the key."""
    problems = [
        Problem(str(at), f"What is number {at}? _",
                (f"stone {at}", f"a cold river {at}")[:: -1 if at % 2 else 1], 1 - at % 2)
        for at in range(40)
    ]  # fmt: skip
    formats.write(problems, "longest.jsonl")
    return Path("longest.jsonl")


def test_broken_rule_exits_with_1_and_names_the_cue(longest, cli):
    rules = "--draws 99 --out audit.html --fail-on cue=3pt,duplicates"
    printed = cli(f"audit longest.jsonl {rules}", code=1)
    assert "choosing “the longest, in characters” is correct for 100.0" in printed
    assert "Broken: longest: “the longest, in characters”" in cli.err
    assert "Audit of longest" in Path("audit.html").read_text("utf-8")


def test_record_with_equal_options_breaks_rule_refused(longest, cli):
    text = longest.read_text("utf-8")
    record = {**json.loads(text.splitlines()[-1]), "id": "bad", "options": ["x", "x"]}
    longest.write_text(f"{text}{json.dumps(record)}\n", "utf-8")
    printed = cli(f"audit longest.jsonl {QUICK} --fail-on refused", code=1)
    assert "longest.jsonl:" in printed


def test_unusable_rows_are_counted_with_reasons(cli):
    rows = [f"What is number {at}?,stone {at},a cold river {at},B\n" for at in range(40)]
    rows[4:9] = ["Same?,x,x,A\n"] * 4 + ["Which?,a,b,\n"]
    path = Path("some.csv")
    path.write_text("question,A,B,answer\n" + "".join(rows))
    printed = " ".join(cli("audit some.csv --draws 99 --no-probes").split())
    assert f"4 of the 40 rows in {path} can't be used: {path}:6: two options are equal" in cli.err
    assert "; and 1 more; add --skip-bad FILE to list all" in cli.err
    assert "of 35 items in 40 rows" in printed
    assert "Not found in the usable items of some: " in printed
    path.write_text("question,A,B,answer\n" + "".join(rows[4:9] + rows[:2]))
    printed = " ".join(cli("audit some.csv --draws 99 --no-probes").split())
    assert "some can't be judged: 4 of 7 rows can't be used" in printed


def test_columns_are_shown_with_the_options_that_name_them(cli):
    rows = [f"n{at},What is {at}?,red {at},blue {at},{at % 2 + 1},easy\n" for at in range(40)]
    Path("own.csv").write_text("Nr,Stem,A,B,Key,Level\n" + "".join(rows))
    read = (
        "the question is 'Stem'; the choices are 'A', 'B'; the answer is 'Key' (numbers from 1); "
        "the id is 'Nr'; other columns: 'Level'. If this is incorrect, name the columns with "
        "--question, --choices, --answer, --answer-is or --id."
    )
    printed = cli(f"audit own.csv {QUICK} --out own.html")
    assert f"own: {read}" in " ".join(printed.split())
    shown = unescape(re.sub("<.*?>", "", Path("own.html").read_text("utf-8")))
    assert f"own: {read}" in " ".join(shown.split())
    columns = {"format": "questions", "question": ["Stem"], "choices": ["A", "B"], "answer": "Key",
               "answer_is": "1", "id": "Nr", "others": ["Level"]}  # fmt: skip
    assert cli.told(f"audit own.csv {QUICK}")["splits"]["own"]["columns"] == columns
    for command in ("stats", "check"):
        assert f"own.csv: {read}" in " ".join(cli(f"{command} own.csv").split())
    assert cli.told("stats own.csv")["columns"] == {"own.csv": columns}
    assert cli.told("check own.csv")["columns"] == columns


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ("leak,cues=3pt", "unknown rule 'cues=3pt' (did you mean cue=3pt?); use cue=3pt, "
         "probe=3pt, borderline, duplicates, contradictions, leak, options, unfilled, refused"),
        ("cue", "unknown rule 'cue'"),
        ("cue=3%", "unknown rule 'cue=3%'"),
        ("duplicates=3", "unknown rule 'duplicates=3'"),
        ("probe=3pt", "omit --no-probes"),
    ],
)  # fmt: skip
def test_rules_that_can_not_break_are_refused_before_reading(rules, message, cli):
    """The rule is unknown, or an option omits its measure."""
    Path("unread.jsonl").write_bytes(b"\xff")
    told = cli.refused(f"audit unread.jsonl --no-probes --fail-on {rules}")
    assert message in " ".join(told.replace("│", " ").split())


def test_embed_adds_probes_on_vectors(cli):
    rows = [f"What is number {at}?,some a{at},the b{at},{'ABA'[at % 3]}\n" for at in range(60)]
    Path("quiz.csv").write_text("question,A,B,answer\n" + "".join(rows))
    record = cli.told("audit quiz.csv --draws 19 --embed light")
    assert [(one["by"], one["sees"]) for one in record["splits"]["quiz"]["probes"]] == [
        (by, sees) for by in ("words", "vectors") for sees in ("options", "question", "both")
    ]
    assert record["embedder"]["embedder"] == "options"
    assert "--embed needs the probes" in cli.refused(f"audit quiz.csv {QUICK} --embed light")


@pytest.fixture
def doubted(cli: Cli) -> str:
    """Write questions, and three models' answers that contradict two keys; return arguments."""
    rows, told = ["id,question,A,B,C,answer"], ["id,one,two,three"]
    for at in range(30):
        marked = "__init__" if at == 7 else f"number {at}"
        rows.append(f"q{at},What is {marked}?,a{at},b{at},c{at},{'ABC'[at % 3]}")
        told.append(f"q{at}," + ",".join("ABC"[(at + (at in (4, 7))) % 3] * 3))
    Path("quiz.csv").write_text("\n".join(rows) + "\n")
    Path("answers.csv").write_text("\n".join(told) + "\n")
    return f"quiz.csv {QUICK} --answers answers.csv"


def test_suspects_are_located(doubted, cli):
    assert "q4 (quiz.csv:6) " in cli(f"audit {doubted}")
    (split,) = cli.told(f"audit {doubted}")["splits"].values()
    assert [one["place"] for one in split["answers"]["suspects"]] == ["quiz.csv:6", "quiz.csv:9"]


def test_suspects_are_sent_to_judges_of_a_site(
    doubted,
    prepared_site,  # noqa: F811
    tmp_path,
):
    """They are under embargo there. An item with a second blank can't be sent, and is reported."""
    site = serving.made(prepared_site, tmp_path / "site", {}, None)
    asked = f"audit {doubted} --check 10 --suspects 9 --to-judge {site.folder}"
    told = forking.run(asked.split(), site.environment).stderr
    assert "10 of 30 items, among them the first 2 suspects" in told
    assert "Not sent to the site: q7: it contains another '_'" in told
    assert "Added to the site for judging: 9; already there: 0." in told
    site.admin("export", str(site.folder), "--out", str(tmp_path / "out"))
    waiting = {p.sentence: p for p in formats.read(tmp_path / "out/private/problems.jsonl")}
    assert waiting["What is number 4? _"].answer == 1
    assert all(problem.embargo for problem in waiting.values())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("other.csv {}", "two of the files contain the id 'q4'; audit the"),
        ("{} --to-judge .", "need a sample; add --check N"),
        ("{} --check 10 --to-judge .", "contains no site"),
    ],
)
def test_suspects_without_unique_ids_answers_or_a_site_are_refused(
    arguments, message, doubted, cli
):
    """If two files share an id, it is unknown which of the items a model has answered."""
    Path("other.csv").write_text("id,question,A,B,answer\nq4,What is it?,x,y,A\n")
    assert message in cli.refused(f"audit {arguments.format(doubted)}")


@pytest.fixture
def leaning(cli: Cli) -> Path:
    """Write 160 questions; in every other one, the key is longer."""
    rows = ["question,A,B,C,answer"]
    for at in range(160):
        cells = [f"{name}{at}" for name in ("ant", "bee", "cow")]
        cells[at % 3] += " that lives here" * (at % 2)
        rows.append(f"Which animal is number {at}?,{','.join(cells)},{'ABC'[at % 3]}")
    Path("leaning.csv").write_text("\n".join(rows) + "\n")
    return Path("leaning.csv")


REPAIR = "--draws 39 --no-probes --repair fixed"


def test_repair_is_written_and_shown_before_and_after(leaning, cli):
    printed = cli(f"audit leaning.csv {REPAIR} --out audit.html")
    assert "This is not shown" in printed
    assert printed.startswith("Before the repair: leaning gives answers away")
    assert "the only known repair of these items" in " ".join(printed.split())
    assert "winosmith audit fixed/kept.jsonl\nTheir ids are row numbers" in printed
    assert "Repair: before and after" in Path("audit.html").read_text("utf-8")
    assert "Repair of leaning" in Path("fixed/report.html").read_text("utf-8")
    record = cli.told(f"audit leaning.csv {REPAIR}")["repair"]
    verdict = {"verdict": record["verdict"]}
    assert record == json.loads(Path("fixed/report.json").read_text("utf-8")) | verdict
    kept = formats.read("fixed/kept.jsonl")
    dropped = Path("fixed/dropped.jsonl").read_text("utf-8").splitlines()
    assert (len(kept), len(dropped)) == (record["kept"], record["dropped"]["thinned"])
    assert len(kept) + len(dropped) == 160
    assert "the longest, in characters" in record["thinned_by"]


def test_items_are_named_by_id_and_line(leaning, cli):
    head, *rows = leaning.read_text().splitlines()
    rows.append(rows[0])
    leaning.write_text("\n".join([head, *rows]))
    audit = "audit leaning.csv --draws 99 --no-probes --todo todo.md"
    found = cli.told(audit)["findings"]
    copies = [one["text"] for one in found if one["rule"] == "duplicates"]
    assert copies == ["item 160 (leaning.csv:162) is identical to item 0 (leaning.csv:2)"]
    assert "only “the longest, in characters”; other cues may stay flagged (now: “" in cli.err
    [first, _, about, _, item, *_] = Path("todo.md").read_text("utf-8").splitlines()
    assert first.startswith("# Options to lengthen: ")
    assert about.startswith("This list covers only “the longest, in characters”")
    assert ".csv:" in item
    assert "such as 0 (" in cli(f"{audit} --repair fixed")
    leaning.write_text("\n".join([f"id,{head}", *(f"q{n},{row}" for n, row in enumerate(rows))]))
    cli(audit)
    assert re.search(
        r"\n- \[ \] q\d+ \(leaning.csv:\d+\): option", Path("todo.md").read_text("utf-8")
    )


@pytest.fixture
def wrong(cli: Cli) -> set[str]:
    """Write 400 questions, 10 with a wrong key, and answers of seven models; return the ten ids.

    In every other question, the key is longer. Each model knows the answers of five of seven
    questions.
    """
    rows = ["id,question,A,B,C,D,answer"]
    told = ["id," + ",".join(f"m{model}" for model in range(7))]
    wrong = {f"q{at}" for at in range(7, 400, 40)}
    for at in range(400):
        right = at * 7 // 5 % 4
        cells = [f"{name}{at}" for name in ("ant", "bee", "cow", "dog")]
        cells[right if at % 2 else at * 3 // 4 % 4] += " that lives here"
        key = (right + 1 + at % 3) % 4 if f"q{at}" in wrong else right
        rows.append(f"q{at},Which animal is number {at}?,{','.join(cells)},{'ABCD'[key]}")
        chosen = [right + (at + model) % 7 // 5 * (1 + (at + model) % 3) for model in range(7)]
        told.append(f"q{at}," + ",".join("ABCD"[choice % 4] for choice in chosen))
    Path("miskeyed.csv").write_text("\n".join(rows) + "\n")
    Path("answers.csv").write_text("\n".join(told) + "\n")
    return wrong


def test_repair_with_answers_does_not_concentrate_wrong_keys(wrong, cli):
    audit = f"audit miskeyed.csv {REPAIR}"
    printed = " ".join(cli(f"{audit} --answers answers.csv").split())
    kept = {problem.id for problem in formats.read("fixed/kept.jsonl")}
    assert len(kept & wrong) / len(kept) <= len(wrong) / 400
    aside = {problem.id for problem in formats.read("fixed/set_aside.jsonl")}
    assert aside <= wrong
    assert f"on another option: {len(aside)} items" in printed
    assert "are biased upwards" in printed
    assert "items will be kept" in cli.err
    record = cli.told(f"{audit} --answers answers.csv --set-aside 2 --force")["repair"]
    assert record["dropped"]["set aside"] == len(record["set_aside"]["items"]) == 2
    assert record["wrong_keys"]["factor"] > 1
    assert "--set-aside needs both --repair DIR" in cli.refused(f"{audit} --set-aside 2")


def test_repair_that_keeps_too_little_is_refused(cli):
    """Nearly every key is the longest option. The option in the message works."""
    rows = ["question,A,B,C,answer"]
    for at in range(240):
        cells = [f"{name}{at}" for name in ("ant", "bee", "cow")]
        cells[(at + (at % 11 == 0) * (1 + at // 11 % 2)) % 3] += " that lives here"
        rows.append(f"Which animal is number {at}?,{','.join(cells)},{'ABC'[at % 3]}")
    Path("quiz.csv").write_text("\n".join(rows) + "\n")
    message = cli.refused(f"audit quiz.csv {REPAIR}")
    assert "would be kept, but at least 20 % must be" in message
    assert "Instead of removing items, rewrite options" in message
    assert not Path("fixed").exists()
    lower = message.partition("--least-kept ")[2].split()[0]
    cli(f"audit quiz.csv {REPAIR} --least-kept {lower}")
    assert 0 < len(formats.read("fixed/kept.jsonl")) < 48


def test_each_split_is_repaired_into_a_folder_of_its_name(leaning, cli):
    """A question of both splits stays in the test split."""
    test = leaning.rename("test.csv").read_text("utf-8")
    train = test.replace("Which animal is", "Who of all is") + test.splitlines()[1] + "\n"
    Path("train.csv").write_text(train, "utf-8")
    record = cli.told(f"audit train.csv test.csv {REPAIR} --out audit.html")["repairs"]
    assert record["train"]["dropped"]["in a later split"] == 1
    assert "in a later split" not in record["test"]["dropped"]
    for name in ("train", "test"):
        assert len(formats.read(f"fixed/{name}/kept.jsonl")) == record[name]["kept"]
        assert f"Repair of {name}: before and after" in Path("audit.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ("a/test.csv test.csv", "two files are named 'test'"),
        ("test.csv train.csv", "'train' is after 'test'"),
        ("contest-a.csv train.csv", "not UTF-8"),
    ],
)
def test_splits_of_one_name_or_wrong_order_are_refused(files, message, cli):
    """They are refused before reading. The name `contest-a` doesn't mark a test split."""
    Path("a").mkdir()
    for path in files.split():
        Path(path).write_bytes(b"\xff")
    assert message in cli.refused(f"audit {files} --repair fixed")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (".", "as one data set, with --pool"),
        ("-", "write it to a file"),
        ("none.csv", "there is no file"),
        ("", "there is no file ''"),
    ],
)
def test_inputs_that_are_not_files_are_refused_with_advice(given, message, longest, cli):
    assert message in cli.refused("audit", given)


def test_outputs_do_not_overwrite_inputs_or_other_files(longest, cli):
    before, audit = longest.read_bytes(), f"audit longest.jsonl {QUICK}"
    Path("other.html").write_bytes(before)
    assert "exists and is not an HTML page" in cli.refused(f"{audit} --out other.html")
    said = cli.refused(f"{audit} --out longest.jsonl")
    assert "The output is an HTML page; name it 'longest.html'." in said
    files = "--todo longest.jsonl"
    assert "; use another name" in cli.refused(f"{audit} {files}")
    assert longest.read_bytes() == before
    for _ in range(2):
        cli(f"{audit} --out longest.html")


def test_list_may_include_answers_to_omitted_records(cli):
    """Each of two splits has a bad record.

    The list has a label for every row, in the order of the files.
    """
    for name in ("one", "two"):
        rows = [f"{name}{n},What is {name} {n}?,a{n},b{n},{'AB'[n % 2]}\n" for n in range(30)]
        rows[7] = f"{name}7,What is {name} 7?,same,same,A\n"
        Path(f"{name}.csv").write_text("id,question,A,B,answer\n" + "".join(rows))
    Path("m.lst").write_text("".join(f"{'AB'[n % 2]}\n" for n in range(30)) * 2)
    told = cli(f"audit one.csv two.csv {QUICK} --answers m.lst")
    assert told.replace("\xa0", " ").count("29 of 29   100.0 %") == 2
