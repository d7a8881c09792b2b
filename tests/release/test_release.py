"""Releases: their files, omitted problems and refusals."""

import csv
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from zlib import crc32

import pytest
import yaml

from tests.cli.test_release import ABOUT as RELEASE_TOML
from tests.conftest import everything
from tests.release.conftest import ABOUT, about, by, found, sets, write_sets
from tests.waiting import LONGEST, until
from winosmith import Dataset, Extra, Origin, Problem, Response, formats, practice, validate
from winosmith.cli import main
from winosmith.errors import DataError, OutputError, RecipeError
from winosmith.escape import escape_markdown_block
from winosmith.humans import CANARY
from winosmith.outputs import try_lock
from winosmith.release import TEMPLATE, Splitting, read_about, release, verify
from winosmith.release._content import digest_text


def test_folder_name_depends_only_on_the_content(small, tmp_path):
    source = write_sets(tmp_path / "source", sets())
    again = release(source, about(), tmp_path / "out", new_ids=True)
    assert again.folder.name == small.folder.name
    assert everything(again.folder) == everything(small.folder)
    assert not release(source, about(), tmp_path / "out", new_ids=True).is_new
    other = release(source, about(title="Small."), tmp_path / "other", new_ids=True)
    assert other.folder.name != small.folder.name


def test_sha256sum_accepts_checksums_of_all_other_files(small):
    done = subprocess.run(
        ["sha256sum", "--check", "--strict", "checksums.txt"],
        cwd=small.folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert len(done.stdout.splitlines()) == len(everything(small.folder)) - 1


def test_refusals_name_the_lines_of_the_given_file(tmp_path):
    """A problem without an answer, in the third line of data that are sorted for the release."""
    first, second, third, *rest = sets()["dev"]
    path = tmp_path / "mine.jsonl"
    formats.write([first, second, replace(third, answer=None), *rest], path)
    with pytest.raises(DataError, match=rf"released:\n{path}:3: '.*' has no answer, although"):
        release([path], about(), tmp_path / "out", new_ids=True)


def test_answers_of_test_are_only_in_the_private_folder(small):
    blind = formats.read(small.folder / "data/test.jsonl")
    assert set(blind.answers) == {None}
    assert {key for p in blind for key in p.extra} == {CANARY}
    assert not (small.folder / "data/test-labels.lst").exists()
    assert small.private_folder.stat().st_mode & 0o077 == 0
    solved = formats.read(small.private_folder / "test.jsonl")
    assert solved.ids == blind.ids
    by_sight = {digest_text(p): p.answer for p in sets()["test"]}
    assert [by_sight[digest_text(p)] for p in blind] == list(solved.answers)
    labels = (small.private_folder / "test-labels.lst").read_text("utf-8").split()
    assert labels == [str((answer or 0) + 1) for answer in solved.answers]


def test_canary_is_in_every_problem_and_text_file(small):
    mark = small.content.canary.encode()
    bare = re.compile(
        r".*\.lst|CONTRIBUTORS\.csv|checksums\.txt|tombstones\.jsonl|.*/winosmith\.json"
    )
    without = {n for n, raw in everything(small.folder).items() if mark not in raw}
    assert {name for name in without if not bare.fullmatch(name)} == set()
    for path in (small.folder / "data").glob("*.jsonl"):
        lines = path.read_bytes().splitlines()
        assert all(mark in line for line in lines)


def test_card_has_the_sections_and_settings_of_the_hub(small):
    text = (small.folder / "README.md").read_text("utf-8")
    _, front, body = text.split("---\n", 2)
    told = yaml.safe_load(front)
    assert told["license"] == "apache-2.0"
    assert [c["config_name"] for c in told["configs"]] == ["xl", "xs"]
    assert told["configs"][0]["default"] is True
    for config in told["configs"]:
        assert [f["split"] for f in config["data_files"]] == ["train", "validation", "test"]
        assert all((small.folder / f["path"]).is_file() for f in config["data_files"])
    wanted = ["Dataset Details", "Uses", "Dataset Structure", "Dataset Creation",
              "Bias, Risks, and Limitations", "Citation", "More Information",
              "Dataset Card Authors", "Dataset Card Contact"]  # fmt: skip
    assert re.findall(r"^## (.*)$", body, re.MULTILINE) == wanted
    assert "| train_xl | 41 | 20 | 1 | 1 | 3 |" in body
    assert "Generated and not validated by judges: 1 of train_xl." in body
    tidy = body.replace("\xa0", " ")
    assert "| part | 10 % | 20 % | 30 % | 50 % |" in tidy
    assert "| train_xl | none | 19.3 % | 24.0 % | 31.4 % |" in tidy


def test_card_lists_the_files_of_the_release(small, tmp_path):
    """A release of test alone has no labels and no tasks."""
    source = write_sets(tmp_path / "source", {"test": sets()["test"]})
    alone = release(source, about(), tmp_path / "out", new_ids=True)
    for folder, count in ((small.folder, 17), (alone.folder, 13)):
        _, table = (folder / "README.md").read_text("utf-8").split("| file | purpose |")
        listed = re.findall(r"^\| `(.+?)` \|", table, re.MULTILINE)
        assert len(listed) == count
        assert all([*folder.glob(name.replace("PART", "*"))] for name in listed)


def test_datasheet_has_statements_or_not_stated(small, tmp_path):
    text = (small.folder / "DATASHEET.md").read_text("utf-8")
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == [
        "Motivation", "Composition", "Collection process", "Preprocessing, cleaning, labelling",
        "Uses", "Distribution", "Maintenance"]  # fmt: skip
    assert "**Who paid for it?**\n\nnot stated\n" in text
    source = write_sets(tmp_path / "source", sets())
    sources = [ABOUT["source"][0], {"name": "*", "licence": "CC0-1.0"}]
    limits = "Not for:\n\n- *young* children\n- <b>experts</b>"
    told = about(datasheet={"funding": "Nobody did."}, source=sources, known_limits=limits)
    other = release(source, told, tmp_path / "out")
    sheet = (other.folder / "DATASHEET.md").read_text("utf-8")
    card = (other.folder / "README.md").read_text("utf-8")
    assert "**Who paid for it?**\n\nNobody did.\n" in sheet
    written = escape_markdown_block(limits).strip()
    assert "\n- *young* children\n" in written
    assert all(f"\n\n{written}\n\n" in text for text in (sheet, card))
    assert "- **Sources:** practice\n" in card
    assert "| All other sources | CC0-1.0 | not stated |" in card


def test_contributors_are_counted_by_pseudonym(tmp_path):
    """A name can't be a spreadsheet formula."""
    parts = sets()
    dev = by(parts["dev"], author="=HYPERLINK()")
    source = write_sets(tmp_path / "source", {**parts, "dev": dev})
    done = release(source, about(), tmp_path / "out")
    with (done.folder / "CONTRIBUTORS.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    counts = {row["contributor"]: int(row["problems"]) for row in rows}
    assert counts["'=HYPERLINK()"] == 16
    assert sum(counts.values()) == done.content.counts["all"]["problems"] == 81
    assert {row["train"] for row in rows if row["contributor"].startswith("e")} == {"0"}


def test_embargoed_problems_and_copies_are_left_out(tmp_path):
    parts = sets()
    hidden = parts["dev"][3]
    copy = replace(hidden, id="copy", twin_id=None, options=hidden.options[::-1], answer=0)
    dev = Dataset((*(replace(p, embargo=p is hidden) for p in parts["dev"]), copy), "dev")
    source = write_sets(tmp_path / "source", {**parts, "dev": dev})
    done = release(source, about(), tmp_path / "out")
    assert done.content.omitted_counts == {"under embargo": 2}
    for raw in everything(done.folder).values():
        assert hidden.id.encode() not in raw
        assert hidden.sentence.encode() not in raw


def test_problems_have_origin_and_judges_but_no_time(tmp_path):
    """Votes by the authors of the twin don't count."""
    parts = sets()
    dated = [
        replace(p, origin=replace(p.origin or Origin(), created="2026-10-02T13:05:00+01:00"))
        for p in parts["dev"]
    ]
    dated[1] = replace(dated[1], origin=replace(dated[1].origin, author="Jos\u00e9"))
    source = write_sets(tmp_path / "source", {**parts, "dev": Dataset(dated, "dev")})
    votes = [Response(p.id, f"judge{n}", "validate", 0) for p in dated[:4] for n in range(3)]
    votes.append(Response(dated[0].id, "subject", "test", 0))
    votes.append(Response(dated[0].id, dated[0].origin.author or "", "validate", 0))
    votes.append(Response(dated[1].id, "Jose\u0301", "validate", 0))
    votes.append(Response(dated[0].id, "Jos\u00e9", "validate", 0))
    validate.write_votes(votes, tmp_path / "votes.csv")
    done = release(source, about(), tmp_path / "out", votes=tmp_path / "votes.csv")
    first = done.content.parts["dev"][0]
    assert first.extra["release.judges"] == 3
    assert "release.judged_by" not in first.extra
    assert (first.origin.created, first.origin.anchor) == ("2026-10-02", dated[0].origin.anchor)
    assert done.content.parts["train_xl"][-1].lineage is not None
    named = release(source, about(judges="pseudonyms"), tmp_path / "named",
                    votes=tmp_path / "votes.csv")  # fmt: skip
    assert named.content.parts["dev"][0].extra["release.judged_by"] == "judge0 judge1 judge2"
    card = (named.folder / "README.md").read_text("utf-8")
    assert "4 of 81 problems were judged, each by 3 people" in card


@pytest.mark.parametrize("kind", ["contributor", "source"])
def test_splits_of_one_file_are_disjoint(kind, tmp_path):
    data = practice.generate_corpus(60, seed=4).dataset
    spread = [
        replace(p, origin=replace(p.origin, source=f"s{crc32(p.twin_id.encode()) % 15}"))
        for p in data
    ]
    formats.write(spread, tmp_path / "twins.jsonl")
    told = about(source=[{"name": "*", "licence": "Apache-2.0"}])
    how = Splitting((kind,))
    done = release(tmp_path / "twins.jsonl", told, tmp_path / "out", splitting=how)
    field = {"contributor": "author", "source": "source"}[kind]
    one, two, three = ({getattr(p.origin, field) for p in d} for d in done.content.parts.values())
    assert not one & two | one & three | two & three
    assert len(done.content.parts["test"]) <= 1.1 * 0.14 * 120
    assert len(done.content.parts["dev"]) <= 1.1 * 0.1 * 120
    assert done.content.disjoint == ("twin", kind)
    assert done.content.counts["all"]["problems"] == 120
    assert found(done.folder) == []


def test_second_release_of_a_version_is_refused(small, tmp_path):
    out = tmp_path / "out"
    source = write_sets(tmp_path / "source", sets())
    first = release(source, about(), out)
    with pytest.raises(OutputError, match="is another release of this version"):
        release(source, about(title="Other"), out)
    (first.folder / "CANARY").write_text("gone", "utf-8")
    with pytest.raises(OutputError, match="was changed after it was released"):
        release(source, about(), out)
    assert sorted(path.name for path in out.iterdir()) == [
        "private", first.folder.name]  # fmt: skip


def test_hidden_folders_of_killed_runs_are_removed(tmp_path):
    """Folders of other benchmarks and of runs in progress stay."""
    source, out = write_sets(tmp_path / "source", sets()), tmp_path / "out"
    for name in (".small-0.9.0.x8d_f3k2", ".small-1.0.0.abcd1234", ".other-1.0.0.abcd1234"):
        (out / name / "data").mkdir(parents=True)
    handle = os.open(out / ".small-1.0.0.abcd1234", os.O_RDONLY)
    assert try_lock(handle)
    release(source, about(), out, new_ids=True)
    os.close(handle)
    hidden = {path.name for path in out.glob(".*")}
    assert hidden == {".small-1.0.0.abcd1234", ".other-1.0.0.abcd1234"}


@pytest.mark.long
def test_interrupt_leaves_no_folder(tmp_path):
    formats.write(
        practice.generate_corpus(1500, seed=1).dataset.problems, tmp_path / "problems.jsonl"
    )
    release_toml = tmp_path / "release.toml"
    release_toml.write_text(RELEASE_TOML, "utf-8")
    out = tmp_path / "out"
    run = subprocess.Popen(
        [sys.executable, "-m", "winosmith", "release", str(tmp_path / "problems.jsonl"),
         "--about", str(release_toml), "--out", str(out)],
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    until(lambda: list(out.glob(".trial-1.0.*")) or run.poll() is not None)
    run.send_signal(signal.SIGINT)
    _, said = run.communicate(timeout=LONGEST)
    assert run.returncode == 130, said
    assert list(out.iterdir()) == []


def test_template_is_refused_until_it_is_filled_in(tmp_path):
    filled = TEMPLATE
    for key, given in {
        "title": '"My quiz"',
        "description": '"Questions."',
        "authors": '["Ada"]',
    }.items():
        (tmp_path / "release.toml").write_text(filled, "utf-8")
        with pytest.raises(RecipeError, match=f"{key} is "):
            read_about(tmp_path / "release.toml")
        filled = re.sub(rf"(?m)^{key} = \S+", f"{key} = {given}", filled)
    (tmp_path / "release.toml").write_text(filled, "utf-8")
    told = read_about(tmp_path / "release.toml", version="3.0.0")
    assert (told.name, told.version, told.source[0].name) == ("my-benchmark", "3.0.0", "*")
    uncommented = re.sub(r"(?m)^# (\w+ = )", r"\1", filled)
    uncommented = re.sub(r"(?m)^# (\[(?:withdrawn|datasheet)\]|\"my-bench.*)$", r"\1", uncommented)
    uncommented = uncommented.replace("# @misc", "@misc").replace('# """', '"""')
    (tmp_path / "all.toml").write_text(uncommented, "utf-8")
    assert read_about(tmp_path / "all.toml").judges == "pseudonyms"


def test_card_has_the_audit_of_public_answers(tmp_path):
    words = [hashlib.sha256(f"{n}".encode()).hexdigest()[:6] for n in range(900)]
    asked = [
        Problem(f"q{n}", f"{' '.join(words[9 * n :][:5])}|?",
                tuple(words[9 * n + 5 + k] + " longer" * (k == n % 4) for k in range(4)), n % 4,
                blank=None)
        for n in range(100)
    ]  # fmt: skip
    formats.write(asked, tmp_path / "quiz.jsonl")
    told = about(source=[{"name": "*", "licence": "MIT"}])
    made = release(tmp_path / "quiz.jsonl", told, tmp_path / "out")
    card = (made.folder / "README.md").read_text("utf-8").replace("\xa0", " ")
    _, audited = card.split("### Cues that give answers away\n")
    audited = audited.split("### ")[0]
    assert "problems gives answers away: choosing “the longest" in audited
    assert "| cue | correct | expected | chance limit | p |" in audited
    assert re.search(r"\| 1\\?\. the longest[^|]*\| 100.0 % \| 25", audited)
    assert "Signature of the audit: `" in audited
    assert 'tags: ["multiple-choice", "question-answering", "winosmith"]' in card
    assert verify(made.folder).faults == ()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"organisations": ["They"]}, "the organisations ['They'] are not in authors; add them"),
        ({"name": "a b"}, "name is 'a b'"),
        ({"version": "one"}, "version is 'one'"),
        ({"date": "21.11.2026"}, "date is '21.11.2026'"),
        ({"title": ""}, "title is ''; it must be non-empty text"),
        ({"licence": "Ours"}, "licence is 'Ours'; it is unknown; use an SPDX identifier"),
        ({"licence": "LicenseRef-x", "terms": ["money"]}, "terms is ['money']"),
        ({"colour": "red"}, "unknown key 'colour'; the keys are"),
        ({"language": ["English"]}, "language is ['English']; it must be a list of codes"),
        ({"judges": "all"}, "judges is 'all'"),
        ({"datasheet": {"weather": "fine"}}, "unknown keys (weather)"),
        ({"source": [{"name": "x"}]}, "[[source]] the key 'licence' is missing"),
        (
            {"source": [{"name": "x", "licence": "MIT"}] * 2},
            "two of the sources ['x', 'x'] have the same name",
        ),
        ({"authors": 3}, "authors is 3; it must be a list of one or more texts"),
        ({"source": []}, "source is []; it must be a list of one or more tables"),
    ],
)
def test_faults_in_release_toml_are_reported(change, reason):
    with pytest.raises(RecipeError, match=re.escape(reason)):
        about(**change)


def test_fields_of_the_source_format_are_omitted_from_test(tmp_path):
    """They could reveal answers."""
    parts = {
        part: Dataset(
            (replace(p, extra=Extra({"wsc.source": f"page {n}"})) for n, p in enumerate(held)), part
        )
        for part, held in sets().items()
        if part in ("dev", "test")
    }
    done = release(write_sets(tmp_path / "source", parts), about(), tmp_path / "out")
    assert done.content.parts["dev"][0].extra["wsc.source"] == "page 0"
    assert not any("wsc.source" in p.extra for p in done.content.parts["test"])


def test_copies_are_counted_in_files_and_terminal(tmp_path, capsys):
    """Contradictions in test are reported only to the owner, who has the answers."""
    parts = sets()
    train, test = parts["train_xl"], parts["test"]
    copy, liar = (replace(p, id=f"{p.id}-x", twin_id=None) for p in (train[0], test[0]))
    liar = replace(liar, answer=1 - (liar.answer or 0))
    parts |= {"train_xl": Dataset([*train, copy]), "test": Dataset([*test, liar])}
    source = write_sets(tmp_path / "source", parts)
    person = '[[source]]\nname = "person"\nlicence = "CC0-1.0"\n'
    (tmp_path / "release.toml").write_text(RELEASE_TOML + person)
    arguments = ["--about", f"{tmp_path / 'release.toml'}", "--out", f"{tmp_path / 'out'}"]
    assert main(["release", str(source), *arguments]) == 0
    told = " ".join(capsys.readouterr().err.split())
    pair = f"{test[0].id} and {liar.id}"
    assert "2 groups of identical problems, 4 problems in all:" in told
    assert f"1 group of identical problems with different answers: {pair}" in told
    (folder,) = tmp_path.glob("out/trial-1.0.0-*")
    assert found(folder) == []
    key = formats.read(tmp_path / "out" / "private" / folder.name / "test.jsonl", as_written=True)
    assert [key[key.row(p.id)].answer for p in (test[0], liar)] == [test[0].answer, liar.answer]
    for name in ("README.md", "DATASHEET.md"):
        text = (folder / name).read_text("utf-8")
        assert "2 groups of identical problems, 4 problems in all:" in text
        assert "identical problems with different answers" not in text
    record = json.loads((folder / "release.json").read_text("utf-8"))
    assert (record["copies"]["problems"], record["contradictions"]["problems"]) == (4, 0)
    assert main(["verify", str(folder)]) == 0
    assert "2 groups of identical problems" in " ".join(capsys.readouterr().err.split())
    assert main(["verify", str(folder), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["copies"]["count"] == 2


def test_card_and_datasheet_describe_questions_with_7_options(tmp_path):
    asked = [
        Problem(f"q{n}", f"Which is number {n}?", tuple(f"item {n} {k}" for k in range(7)), n % 7,
                blank=None)
        for n in range(12)
    ]  # fmt: skip
    formats.write(asked, tmp_path / "q.jsonl")
    said = about(source=[{"name": "*", "licence": "CC0-1.0"}])
    made = release(tmp_path / "q.jsonl", said, tmp_path / "out")
    card = (made.folder / "README.md").read_text("utf-8")
    assert "| `question` | the question |" in card
    assert "| `sentence` |" not in card
    assert "2 to 5" not in card
    sheet = (made.folder / "DATASHEET.md").read_text("utf-8")
    assert "or a question, and 7 options, one of which is correct" in sheet
    assert verify(made.folder).faults == ()
