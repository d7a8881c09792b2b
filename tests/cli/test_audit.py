"""`winosmith audit`: a verdict, a page, JSON, and an exit code for CI."""

import json
from pathlib import Path

import pytest

from tests import forking
from tests.cli.conftest import Cli
from tests.web import serving
from tests.web.conftest import prepared_site  # noqa: F401
from winosmith import Problem, formats
from winosmith.cli import main
from winosmith.humans import make_sheets


@pytest.fixture
def told(tmp_path: Path) -> Path:
    """Write a file whose longest option is always the key."""
    problems = [
        Problem(str(at), f"What is number {at}? _", (f"stone {at}", f"a cold river {at}"), 1)
        for at in range(40)
    ]
    problems = [
        Problem(p.id, p.sentence, p.options[::-1], 0) if int(p.id) % 2 else p for p in problems
    ]
    path = tmp_path / "told.jsonl"
    formats.write(problems, path)
    return path


def test_broken_rule_exits_with_1_and_names_the_cue(told: Path, tmp_path: Path, cli: Cli) -> None:
    out = tmp_path / "audit.html"
    asked = ("--draws", "99", "--out", out, "--fail-on", "cue=3pt,duplicates")
    printed = cli("audit", told, *asked, code=1)
    assert "choosing “the longest, in characters” is correct for 100.0" in printed
    assert "Broken: told: “the longest, in characters”" in cli.err
    assert "Audit of told" in out.read_text("utf-8")


def test_record_with_equal_options_breaks_rule_refused(told: Path, cli: Cli) -> None:
    with told.open("a", encoding="utf-8") as file:
        record = json.loads(told.read_text("utf-8").splitlines()[-1])
        file.write(json.dumps({**record, "id": "bad", "options": ["x", "x"]}) + "\n")
    assert "told.jsonl:" in cli(
        "audit", told, "--draws", "19", "--no-probes", "--fail-on", "refused", code=1
    )


def test_unusable_rows_are_counted_with_reasons(tmp_path: Path, cli: Cli) -> None:
    rows = [f"What is number {at}?,stone {at},a cold river {at},B\n" for at in range(40)]
    rows[4:9] = ["Same?,x,x,A\n"] * 4 + ["Which?,a,b,\n"]
    path = tmp_path / "some.csv"
    path.write_text("question,A,B,answer\n" + "".join(rows))
    audited = ("audit", path, "--draws", "99", "--no-probes")
    printed = " ".join(cli(*audited).split())
    assert f"4 of the 40 rows in {path} can't be used: {path}:6: two options are equal" in cli.err
    assert "; and 1 more; add --skip-bad FILE to list all" in cli.err
    assert "of 35 items in 40 rows" in printed
    assert "Not found in the usable items of some: " in printed
    path.write_text("question,A,B,answer\n" + "".join(rows[4:9] + rows[:2]))
    printed = " ".join(cli(*audited).split())
    assert "some can't be judged: 4 of 7 rows can't be used" in printed
    assert "No line for a README: some can't be judged" in printed


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ("leak,cues=3pt", "unknown rule 'cues=3pt' (did you mean cue=3pt?); use cue=3pt, "
         "probe=3pt, borderline, duplicates, contradictions, leak, options, unfilled, refused, "
         "texts, licence, canary"),
        ("cue", "unknown rule 'cue'"),
        ("cue=3%", "unknown rule 'cue=3%'"),
        ("duplicates=3", "unknown rule 'duplicates=3'"),
        ("probe=3pt", "omit --no-probes"),
        ("texts", "--fail-on texts needs texts; add --texts FILE"),
    ],
)  # fmt: skip
def test_rules_that_can_not_break_are_refused_before_reading(
    rules: str, message: str, tmp_path: Path, cli: Cli
) -> None:
    """The rule is unknown, or an option omits its measure."""
    unread = tmp_path / "unread.jsonl"
    unread.write_bytes(b"\xff")
    told = cli.refused("audit", unread, "--no-probes", "--fail-on", rules)
    assert message in " ".join(told.replace("│", " ").split())


def test_embed_adds_probes_on_vectors(tmp_path: Path, cli: Cli) -> None:
    rows = ["question,A,B,answer"]
    rows += [f"What is number {at}?,some a{at},the b{at},{'ABA'[at % 3]}" for at in range(60)]
    quiz = tmp_path / "quiz.csv"
    quiz.write_text("\n".join(rows) + "\n", encoding="utf-8")
    given = ("audit", quiz, "--draws", "19", "--embed", "light")
    record = cli.told(*given)
    probes = record["splits"]["quiz"]["probes"]
    assert [(one["by"], one["sees"]) for one in probes] == [
        (by, sees) for by in ("words", "vectors") for sees in ("options", "question", "both")
    ]
    assert record["embedder"]["embedder"] == "options"
    assert "--embed needs the probes" in cli.refused(*given, "--no-probes")


@pytest.fixture
def doubted(tmp_path: Path) -> list[str]:
    """Write questions, and three models' answers that contradict two keys; return arguments."""
    rows, told = ["id,question,A,B,C,answer"], ["id,one,two,three"]
    for at in range(30):
        marked = "__init__" if at == 7 else f"number {at}"
        rows.append(f"q{at},What is {marked}?,a{at},b{at},c{at},{'ABC'[at % 3]}")
        told.append(f"q{at}," + ",".join("ABC"[(at + (at in (4, 7))) % 3] * 3))
    for name, lines in (("quiz.csv", rows), ("answers.csv", told)):
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    answers = str(tmp_path / "answers.csv")
    return [str(tmp_path / "quiz.csv"), "--draws", "19", "--no-probes", "--answers", answers]


def test_suspects_become_a_test_sheet(doubted: list[str], tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "suspects.jsonl"
    assert f"Wrote {path} (2 problems)" in cli.aside("audit", *doubted, "--to-sheet", path)
    (sheet,) = make_sheets(formats.read(path)).sheets
    assert {"".join(item.text): item.options for item in sheet.items} == {
        "What is number 4? _": ("a4", "b4", "c4"),
        "What is __init__? _": ("a7", "b7", "c7"),
    }


def test_suspects_are_sent_to_judges_of_a_site_once(
    doubted: list[str],
    prepared_site: Path,  # noqa: F811
    tmp_path: Path,
) -> None:
    """They are under embargo there. An item with a second blank can't be sent, and is reported."""
    site = serving.made(prepared_site, tmp_path / "site", {}, None)
    asked = ("audit", *doubted, "--to-judge", str(site.folder))
    told, again = (forking.run(asked, site.environment).stderr for _ in range(2))
    assert "Not sent to judges: q7: it contains another '_'" in told
    assert "Added to the site for judging: 1; already there: 0." in told
    assert "Added to the site for judging: 0; already there: 1." in again
    site.admin("export", str(site.folder), "--out", str(tmp_path / "out"))
    (waiting,) = formats.read(tmp_path / "out/private/problems.jsonl")
    assert (waiting.sentence, waiting.answer) == ("What is number 4? _", 1)
    assert waiting.embargo
    assert waiting.extra == {"audit.id": "q4", "audit.set": "quiz"}


def test_answers_of_files_that_share_ids_are_refused(
    doubted: list[str], tmp_path: Path, cli: Cli
) -> None:
    """It is unknown which of the two items a model has answered."""
    other = tmp_path / "other.csv"
    other.write_text("id,question,A,B,answer\nq4,What is it?,x,y,A\n", encoding="utf-8")
    assert "two of the files contain the id 'q4'; audit the" in cli.refused(
        "audit", other, *doubted
    )


def test_to_sheet_needs_answers_and_to_judge_needs_a_site(
    doubted: list[str], tmp_path: Path, cli: Cli
) -> None:
    assert "need models' answers" in cli.refused(
        "audit", doubted[0], "--to-sheet", tmp_path / "s.jsonl"
    )
    assert "contains no site" in cli.refused("audit", *doubted, "--to-judge", tmp_path)


@pytest.fixture
def leaning(tmp_path: Path) -> Path:
    """Write 160 questions; in every other one, the key is longer."""
    rows = ["question,A,B,C,answer"]
    for at in range(160):
        cells = [f"{name}{at}" for name in ("ant", "bee", "cow")]
        cells[at % 3] += " that lives here" * (at % 2)
        rows.append(f"Which animal is number {at}?,{','.join(cells)},{'ABC'[at % 3]}")
    path = tmp_path / "leaning.csv"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def test_repair_is_written_and_shown_before_and_after(
    leaning: Path, tmp_path: Path, cli: Cli
) -> None:
    folder, page = tmp_path / "fixed", tmp_path / "audit.html"
    asked = ["audit", str(leaning), "--draws", "39", "--no-probes", "--repair", str(folder)]
    printed = cli(*asked, "--out", page)
    assert "This is not shown" in printed
    assert printed.startswith("Before the repair: leaning gives answers away")
    assert "the only known repair of these items" in " ".join(printed.split())
    assert f"winosmith audit {folder / 'kept.jsonl'}\nTheir ids are row numbers" in printed
    assert "Repair: before and after" in page.read_text("utf-8")
    assert "Repair of leaning" in (folder / "report.html").read_text("utf-8")
    record = cli.told(*asked)["repair"]
    assert record == json.loads((folder / "report.json").read_text("utf-8")) | {
        "verdict": record["verdict"]
    }
    kept = formats.read(folder / "kept.jsonl")
    dropped = (folder / "dropped.jsonl").read_text("utf-8").splitlines()
    assert (len(kept), len(dropped)) == (record["kept"], record["dropped"]["thinned"])
    assert len(kept) + len(dropped) == 160
    assert "the longest, in characters" in record["thinned_by"]


def test_items_without_ids_are_shown_by_their_lines(
    leaning: Path, tmp_path: Path, cli: Cli
) -> None:
    head, *rows = leaning.read_text().splitlines()
    rows.append(rows[0])
    leaning.write_text("\n".join([head, *rows]))
    todo = tmp_path / "todo.md"
    audited = ("--draws", "99", "--no-probes", "--todo", todo)
    found = cli.told("audit", leaning, *audited)
    copies = [one["text"] for one in found["findings"] if one["rule"] == "duplicates"]
    assert copies == [f"item {leaning}:162 is identical to item {leaning}:2"]
    assert "only “the longest, in characters”; other cues may stay flagged (now: “" in cli.err
    [first, _, about, _, item, *_] = todo.read_text("utf-8").splitlines()
    assert first.startswith("# Options to lengthen: ")
    assert about.startswith("This list covers only “the longest, in characters”")
    assert ".csv:" in item
    leaning.write_text("\n".join([f"id,{head}", *(f"q{n},{row}" for n, row in enumerate(rows))]))
    cli("audit", leaning, *audited)
    assert "\n- [ ] q" in todo.read_text("utf-8")


@pytest.fixture
def miskeyed(tmp_path: Path) -> tuple[Path, Path, set[str]]:
    """Write 400 questions, 10 of them with a wrong key, and answers of seven models.

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
    for name, lines in (("miskeyed.csv", rows), ("answers.csv", told)):
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path / "miskeyed.csv", tmp_path / "answers.csv", wrong


def test_repair_with_answers_does_not_concentrate_wrong_keys(
    miskeyed: tuple[Path, Path, set[str]], tmp_path: Path, cli: Cli
) -> None:
    quiz, answers, wrong = miskeyed
    folder = tmp_path / "fixed"
    asked = ["audit", str(quiz), "--draws", "39", "--no-probes", "--repair", str(folder)]
    printed = " ".join(cli(*asked, "--answers", answers).split())
    kept = {problem.id for problem in formats.read(folder / "kept.jsonl")}
    assert len(kept & wrong) / len(kept) <= len(wrong) / 400
    aside = {problem.id for problem in formats.read(folder / "set_aside.jsonl")}
    assert aside <= wrong
    assert f"on another option: {len(aside)} items" in printed
    assert "are biased upwards" in printed
    assert "items will be kept" in cli.err
    record = cli.told(*asked, "--answers", answers, "--set-aside", "2", "--force")["repair"]
    assert record["dropped"]["set aside"] == len(record["set_aside"]["items"]) == 2
    assert record["wrong_keys"]["factor"] > 1
    assert "--set-aside needs both --repair DIR" in cli.refused(*asked, "--set-aside", "2")


def test_repair_that_keeps_too_little_is_refused(tmp_path: Path, cli: Cli) -> None:
    """Nearly every key is the longest option. The option in the message works."""
    rows = ["question,A,B,C,answer"]
    for at in range(240):
        cells = [f"{name}{at}" for name in ("ant", "bee", "cow")]
        cells[(at + (at % 11 == 0) * (1 + at // 11 % 2)) % 3] += " that lives here"
        rows.append(f"Which animal is number {at}?,{','.join(cells)},{'ABC'[at % 3]}")
    quiz, folder = tmp_path / "quiz.csv", tmp_path / "fixed"
    quiz.write_text("\n".join(rows) + "\n", encoding="utf-8")
    asked = ["audit", str(quiz), "--draws", "39", "--no-probes", "--repair", str(folder)]
    message = cli.refused(*asked)
    assert "would be kept, but at least 20 % must be" in message
    assert "Instead of removing items, rewrite options" in message
    assert not folder.exists()
    lower = message.partition("--least-kept ")[2].split()[0]
    cli(*asked, "--least-kept", lower)
    assert 0 < len(formats.read(folder / "kept.jsonl")) < 48


def test_each_split_is_repaired_into_a_folder_of_its_name(
    leaning: Path, tmp_path: Path, cli: Cli
) -> None:
    """A question of both splits stays in the test split."""
    rows = leaning.read_text("utf-8").splitlines()
    train, test = tmp_path / "train.csv", tmp_path / "test.csv"
    train.write_text("\n".join(rows).replace("Which animal is", "Who of all is") + "\n")
    test.write_text("\n".join(rows) + "\n", encoding="utf-8")
    with train.open("a", encoding="utf-8") as file:
        file.write(f"{rows[1]}\n")
    folder, page = tmp_path / "fixed", tmp_path / "audit.html"
    asked = ["--draws", "39", "--no-probes", "--repair", str(folder), "--out", str(page)]
    record = cli.told("audit", train, test, *asked)["repairs"]
    assert record["train"]["dropped"]["in a later split"] == 1
    assert "in a later split" not in record["test"]["dropped"]
    for name in ("train", "test"):
        assert len(formats.read(folder / name / "kept.jsonl")) == record[name]["kept"]
        assert f"Repair of {name}: before and after" in page.read_text("utf-8")


def test_splits_of_one_name_or_wrong_order_are_refused(
    leaning: Path, tmp_path: Path, cli: Cli
) -> None:
    """They are refused before reading. The name `contest-a` doesn't mark a test split."""
    (tmp_path / "a").mkdir()
    paths = [tmp_path / "a" / "test.csv", tmp_path / "test.csv", tmp_path / "train.csv"]
    for path in paths:
        path.write_bytes(b"\xff")
    asked = ["--repair", str(tmp_path / "fixed")]
    assert "two files are named 'test'" in cli.refused("audit", paths[0], paths[1], *asked)
    assert "'train' is after 'test'" in cli.refused("audit", paths[1], paths[2], *asked)
    contest = paths[0].rename(tmp_path / "contest-a.csv")
    assert "not UTF-8" in cli.refused("audit", contest, paths[2], *asked)


def test_inputs_that_are_not_files_are_refused_with_advice(told: Path, cli: Cli) -> None:
    for given, message in (
        (told.parent, "as one data set, with --pool"),
        ("-", "write it to a file"),
        (told.parent / "none.csv", "there is no file"),
        ("", "there is no file ''"),
    ):
        assert message in cli.refused("audit", given)


def test_outputs_do_not_overwrite_inputs_or_other_files(told: Path, cli: Cli) -> None:
    before = told.read_bytes()
    asked = ["audit", str(told), "--draws", "19", "--no-probes"]
    other = told.with_name("other.html")
    other.write_bytes(before)
    assert "exists and is not an HTML page" in cli.refused(*asked, "--out", other)
    said = cli.refused(*asked, "--out", told)
    assert f"The output is an HTML page; name it '{told.with_suffix('.html')}'." in said
    assert "; use another name" in cli.refused(*asked, "--answers", told, "--to-sheet", told)
    assert told.read_bytes() == before
    page = told.with_suffix(".html")
    assert [main([*asked, "--out", str(page)]) for _ in range(2)] == [0, 0]


def test_list_may_include_answers_to_omitted_records(tmp_path: Path, cli: Cli) -> None:
    """Each of two splits has a bad record.

    The list has a label for every row, in the order of the files.
    """
    for name in ("one", "two"):
        rows = [f"{name}{n},What is {name} {n}?,a{n},b{n},{'AB'[n % 2]}\n" for n in range(30)]
        rows[7] = f"{name}7,What is {name} 7?,same,same,A\n"
        (tmp_path / f"{name}.csv").write_text("id,question,A,B,answer\n" + "".join(rows))
    (tmp_path / "m.lst").write_text("".join(f"{'AB'[n % 2]}\n" for n in range(30)) * 2)
    files = (tmp_path / "one.csv", tmp_path / "two.csv")
    told = cli("audit", *files, "--no-probes", "--draws", "19", "--answers", tmp_path / "m.lst")
    assert told.replace("\xa0", " ").count("29 of 29   100.0 %") == 2
