"""Every kind of fault that is planted in a release is found, and nothing else is."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet
import pytest

from tests.release.conftest import found, rewritten, seal, sets, with_problem, write_sets
from winosmith import Dataset, Edit, Extra, Lineage, Problem
from winosmith.release import Content, Released, about_of, verify
from winosmith.release._ids import sight

Plant = Callable[[Path], None]


def _line(path: str, number: int, change: Callable[[str], str]) -> Plant:
    """Return a plant that changes one line of a file, counted from 1."""

    def plant(folder: Path) -> None:
        lines = (folder / path).read_text("utf-8").split("\n")
        lines[number - 1] = change(lines[number - 1])
        (folder / path).write_text("\n".join(lines), "utf-8")

    return plant


def _replace(path: str, old: str, new: str) -> Plant:
    """Return a plant that replaces the first occurrence of a text, which must be there."""

    def plant(folder: Path) -> None:
        text = (folder / path).read_text("utf-8")
        assert re.search(old, text), f"{old} is not in {path}"
        (folder / path).write_text(re.sub(old, new, text, count=1), "utf-8")

    return plant


def _add(path: str, text: str) -> Plant:
    def plant(folder: Path) -> None:
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text, "utf-8")

    return plant


def _remove(path: str) -> Plant:
    return lambda folder: (folder / path).unlink()


def _record(change: Callable[[dict], object]) -> Plant:  # type: ignore[type-arg]
    """Return a plant that changes what release.json says."""

    def plant(folder: Path) -> None:
        record = json.loads((folder / "release.json").read_text("utf-8"))
        change(record)
        (folder / "release.json").write_text(json.dumps(record), "utf-8")

    return plant


def _parquet(change: Callable[[object], object], metadata: bool = True) -> Plant:
    """Return a plant that changes the table of dev."""

    def plant(folder: Path) -> None:
        path = folder / "data/dev.parquet"
        table = pyarrow.parquet.read_table(path)
        changed = change(table)
        if metadata:
            changed = changed.replace_schema_metadata(table.schema.metadata)  # type: ignore[attr-defined]
        pyarrow.parquet.write_table(changed, path)

    return plant


def _croissant(change: Callable[[dict], object]) -> Plant:  # type: ignore[type-arg]
    def plant(folder: Path) -> None:
        told = json.loads((folder / "croissant.json").read_text("utf-8"))
        change(told)
        (folder / "croissant.json").write_text(json.dumps(told, indent=1), "utf-8")

    return plant


def _swapped(table):  # type: ignore[no-untyped-def]
    """Return a table whose first two rows have changed places."""
    return table.take([1, 0, *range(2, len(table))])


def _test_in_harness(folder: Path) -> None:
    told = json.loads((folder / "data/test.jsonl").read_text("utf-8").splitlines()[0])
    before, _, rest = told["sentence"].partition("_")
    path = folder / "harness/lm_eval/partial.jsonl"
    task = json.loads(path.read_text("utf-8").splitlines()[0])
    task |= {"id": told["id"], "before": before, "rest": rest, "label": 0}
    path.write_text(path.read_text("utf-8") + json.dumps(task) + "\n", "utf-8")


IN_FILES: dict[str, tuple[Plant, str]] = {
    "a problem that is no JSON": (
        _line("data/dev.jsonl", 3, lambda line: line[:-5]),
        r"data/dev\.jsonl:3: this is no problem: .*delimiter|data/dev\.jsonl:3: this is no problem",
    ),
    "a problem with two blanks": (
        _line("data/dev.jsonl", 2, lambda line: line.replace(" _ ", " _ _ ")),
        r"data/dev\.jsonl:2: this is no problem: the sentence has 2 blanks",
    ),
    "an unknown key": (
        _line("data/dev.jsonl", 4, lambda line: '{"note":"x",' + line[1:]),
        r"data/dev\.jsonl:4: this is no problem: the record has an unknown key 'note'",
    ),
    "a line written another way": (
        _line("data/test.jsonl", 1, lambda line: line.replace('":"', '": "', 1)),
        r"data/test\.jsonl:1: it is not written as winosmith writes it",
    ),
    "embargo set on a problem of a task": (
        _line("data/dev.jsonl", 4, lambda line: line.replace('"extra"', '"embargo":true,"extra"')),
        r"data/dev\.jsonl:4: '.*' is under embargo",
    ),
    "the same problem twice": (
        _line("data/dev.jsonl", 2, lambda line: line + "\n" + line),
        r"data/dev\.jsonl:3: the id '.*' is that of line 2, too",
    ),
    "a last line without its end": (
        lambda folder: (folder / "data/dev.jsonl").write_text(
            (folder / "data/dev.jsonl").read_text("utf-8").rstrip("\n"), "utf-8"
        ),
        r"data/dev\.jsonl:16: its last line is not ended",
    ),
    "a label turned round": (
        _line("data/dev-labels.lst", 5, lambda line: "2" if line == "1" else "1"),
        r"data/dev-labels\.lst:5: it does not have the answers",
    ),
    "labels of test": (
        _add("data/test-labels.lst", "1\n" * 24),
        r"data/test-labels\.lst: it is no file of a release",
    ),
    "rows of Parquet in another order": (
        _parquet(_swapped),
        r"data/dev\.parquet: the id of row 1 is not that of the JSON Lines",
    ),
    "a row of Parquet too few": (
        _parquet(lambda table: table.slice(1)),
        r"data/dev\.parquet: it has 15 rows; the JSON Lines have 16",
    ),
    "a column of Parquet too few": (
        _parquet(lambda table: table.drop_columns(["anchor"])),
        r"data/dev\.parquet: its columns are not those of a release",
    ),
    "Parquet without the canary": (
        _parquet(lambda table: table.replace_schema_metadata(None), metadata=False),
        r"data/dev\.parquet: its metadata do not carry the canary",
    ),
    "Parquet that is none": (
        _add("data/dev.parquet", "PAR1 or so"),
        r"data/dev\.parquet: it can't be read",
    ),
    "a canary cut out": (
        _replace("CANARY", r"canary [0-9a-f]{8}", "canary 00000000"),
        r"CANARY:2: it says .*; from the problems follows 'winosmith canary",
    ),
    "a count in the card": (
        _replace("README.md", r"\| dev \| 16 \|", "| dev | 17 |"),
        r"README\.md:\d+: dev has 16 problems",
    ),
    "a sentence in the card": (
        _replace("README.md", "Do not train on dev or test", "Train on what you like"),
        r"README\.md:\d+: it says .*Train on what you like",
    ),
    "another licence in the card": (
        _replace("README.md", 'license: "apache-2.0"', 'license: "mit"'),
        r"README\.md:2: it says 'license: \"mit\"'",
    ),
    "a datasheet improved by hand": (
        _replace("DATASHEET.md", "not stated", "a generous donor"),
        r"DATASHEET\.md:\d+: it says 'a generous donor'",
    ),
    "a source left out of the licences": (
        _replace("LICENCES.md", "## person", "## nobody"),
        r"LICENCES\.md:\d+: it says '## nobody'",
    ),
    "a formula among the contributors": (
        _replace("CONTRIBUTORS.csv", r"\nt0,", "\n=cmd(),"),
        r"CONTRIBUTORS\.csv:\d+: it says '=cmd\(\),",
    ),
    "more credit than is due": (
        _replace("CONTRIBUTORS.csv", r"\nt0,\d+", "\nt0,999"),
        r"CONTRIBUTORS\.csv:\d+: it says 't0,999",
    ),
    "a changelog of another version": (
        _replace("CHANGELOG.md", r"## 1\.0\.0", "## 0.9.0"),
        r"CHANGELOG\.md:\d+: its first section is not of this version",
    ),
    "a tombstone with a text": (
        _add("tombstones.jsonl", '{"id":"x","last":"1","withdrawn":"2","sentence":"The _."}\n'),
        r"tombstones\.jsonl:1: this is no tombstone",
    ),
    "Croissant with another checksum": (
        _croissant(lambda told: told["distribution"][0].update(sha256="0" * 64)),
        r"croissant\.json: the SHA-256 or size of data/dev-labels\.lst is another",
    ),
    "Croissant with a file too few": (
        _croissant(lambda told: told["distribution"].pop(0)),
        r"croissant\.json: it does not name data/dev-labels\.lst",
    ),
    "Croissant with a file too many": (
        _croissant(
            lambda told: told["distribution"].append(
                {**told["distribution"][0], "@id": "data/more.lst", "name": "more.lst"}
            )
        ),
        r"croissant\.json: there is no file data/more\.lst",
    ),
    "Croissant with another count": (
        _croissant(lambda told: told["recordSet"][0].update(description="7 problems.")),
        r"croissant\.json: its record set train_xs is not told to have 12 problems",
    ),
    "Croissant with a field too few": (
        _croissant(lambda told: told["recordSet"][2]["field"].pop()),
        r"croissant\.json: the fields of its record set dev are not the columns",
    ),
    "Croissant without a record set": (
        _croissant(lambda told: told["recordSet"].pop()),
        r"croissant\.json: there is no record set for test",
    ),
    "Croissant that mlcroissant refuses": (
        _croissant(lambda told: told.pop("license")),
        r"croissant\.json: mlcroissant: .*license",
    ),
    "Croissant that is no JSON": (
        _add("croissant.json", "{"),
        r"croissant\.json: it can't be read",
    ),
    "a test problem in a task": (
        _test_in_harness,
        r"harness/lm_eval/partial\.jsonl:17: '.*' is a problem of test, with its answer",
    ),
    "an answer turned round in a task": (
        _replace("harness/inspect_ai/problems.jsonl", r'"target": "A"', '"target": "B"'),
        r"harness/inspect_ai/problems\.jsonl:\d+: it says",
    ),
    "a task that does something else": (
        _replace("harness/lm_eval/utils.py", "import json", "import os"),
        r"harness/lm_eval/utils\.py:\d+: it says 'import os'",
    ),
    "a file of somebody's": (
        _add("notes.txt", "mine"),
        r"notes\.txt: it is no file of a release",
    ),
    "a private folder": (
        _add("private/test.jsonl", "{}\n"),
        r"private/test\.jsonl: it is no file of a release",
    ),
    "another count in release.json": (
        _record(lambda record: record["counts"]["dev"].update(problems=17)),
        r"release\.json: dev has 16 problems, not 17",
    ),
    "another signature in release.json": (
        _record(lambda record: record.update(signature="data:0|n:1")),
        r"release\.json: its signature does not follow",
    ),
    "contributors that lie on two sides after all": (
        _record(lambda record: record.update(disjoint=["twin", "source"])),
        r"data/train_xs\.jsonl:1: .* on two sides of a split: both are from the source 'practice'",
    ),
    "a licence that does not fit": (
        _record(lambda record: record["about"].update(licence="CC0-1.0")),
        r"release\.json: the source 'practice': Apache-2\.0 asks for attribution, and CC0-1\.0",
    ),
    "a source without a licence": (
        _record(lambda record: record["about"]["source"].pop()),
        r"data/train_xl\.jsonl:\d+: 1 problem .*no licence is stated for the source 'person'",
    ),
}
"""Faults by hands that keep checksums, digest and address in order: a plant, and what is told."""


@pytest.mark.parametrize("name", IN_FILES)
def test_a_fault_in_a_file_is_found_under_right_checksums(name: str, copied: Path) -> None:
    """What is planted in a file is found, with the place, although every checksum fits."""
    plant, told = IN_FILES[name]
    plant(copied)
    faults = found(seal(copied))
    assert any(re.match(told, fault) for fault in faults), faults
    assert not [fault for fault in faults if "SHA-256 is not" in fault or "address" in fault]


def _answer(problem: Problem) -> Problem:
    return replace(problem, answer=0)


def _extra(**more: object) -> Callable[[Problem], Problem]:
    told = {key.replace("__", "."): value for key, value in more.items()}
    return lambda p: replace(p, extra=Extra({**p.extra, **told}))  # type: ignore[arg-type]


def _named(content: Content, problem: Problem) -> Problem:
    """Return a problem with the id that its sentence and options make."""
    return replace(problem, id=f"{content.about.name}-{sight(problem)[:12]}")


def _copy_across(change: Callable[[Problem], Problem]) -> Callable[[Content], Content]:
    """Return a plant that adds a changed copy of a training problem to dev."""

    def plant(content: Content) -> Content:
        model = content.parts["train_xl"][20]
        other = _named(content, change(replace(model, twin_id=None)))
        dev = Dataset([*content.parts["dev"], other], "dev")
        return replace(content, parts={**content.parts, "dev": dev})

    return plant


def _twin_across(content: Content) -> Content:
    twin = content.parts["train_xl"][20].twin_id
    return with_problem(content, "dev", 0, lambda p: replace(p, twin_id=twin))


def _family_across(content: Content) -> Content:
    root = content.parts["train_xl"][20].id
    lineage = Lineage(root, root, (Edit("insert", 0, "", "So"),))
    return with_problem(content, "dev", 0, lambda p: replace(p, lineage=lineage))


def _reversed_test(content: Content) -> Content:
    test = Dataset(reversed(content.parts["test"]), "test")
    return replace(content, parts={**content.parts, "test": test})


def _withdrawn(content: Content) -> Content:
    stone = {"id": content.parts["dev"][3].id, "last": "0.9.0", "withdrawn": "0.9.5"}
    return replace(content, tombstones=(stone,))


def _other_id(content: Content) -> Content:
    return with_problem(content, "test", 0, lambda p: replace(p, id="small-answer-1"))


def _in(part: str, row: int, change: Callable[[Problem], Problem]) -> Callable[[Content], Content]:
    return lambda content: with_problem(content, part, row, change)


def _origin(**changes: str) -> Callable[[Problem], Problem]:
    return lambda p: replace(p, origin=replace(p.origin, **changes))  # type: ignore[type-var]


IN_PROBLEMS: dict[str, tuple[Callable[[Content], Content], str]] = {
    "an answer in test": (
        _in("test", 4, _answer),
        r"data/test\.jsonl:5: '.*' has its answer, though it is of test",
    ),
    "a field that tells, in test": (
        _in("test", 2, _extra(wsc__correct="A")),
        r"data/test\.jsonl:3: '.*' has 'wsc\.correct', which may tell its answer",
    ),
    "a problem under embargo": (
        _in("train_xl", 30, lambda p: replace(p, embargo=True)),
        r"data/train_xl\.jsonl:31: '.*' is under embargo",
    ),
    "a problem without the canary": (
        _in("dev", 6, lambda p: replace(p, extra=Extra())),
        r"data/dev\.jsonl:7: '.*' does not carry the canary",
    ),
    "a training problem without an answer": (
        _in("train_xl", 31, lambda p: replace(p, answer=None)),
        r"data/train_xl\.jsonl:32: '.*' has no answer, though it is not of test",
    ),
    "an address for a name": (
        _in("dev", 0, _origin(author="ann@example.org")),
        r"data/dev\.jsonl:1: '.*' names its contributor by what looks like an address",
    ),
    "the hour of writing": (
        _in("dev", 0, _origin(created="2026-11-21T13:05")),
        r"data/dev\.jsonl:1: '.*' tells the hour at which it was written",
    ),
    "an id that may tell": (
        _other_id,
        r"data/test\.jsonl:1: 'small-answer-1' has an id that is not made from what",
    ),
    "test in another order": (
        _reversed_test,
        r"data/test\.jsonl:2: the order is not that of what a solver sees",
    ),
    "a problem that was withdrawn": (
        _withdrawn,
        r"tombstones\.jsonl:1: '.*' is withdrawn, and is still there",
    ),
    "halves of a twin on two sides": (
        _twin_across,
        r"data/train_xl\.jsonl:21: .*\(data/dev\.jsonl:1\).*halves of the twin",
    ),
    "a family on two sides": (
        _family_across,
        r"data/train_xl\.jsonl:21: .*\(data/dev\.jsonl:1\).*of the family of",
    ),
    "a copy in other capitals on two sides": (
        _copy_across(lambda p: replace(p, sentence=p.sentence.replace("The", "THE").upper())),
        r"data/train_xl\.jsonl:2[012]: .* lie on two sides .*: ",
    ),
    "a near copy on two sides": (
        _copy_across(lambda p: replace(p, sentence="Well, " + p.sentence)),
        r"data/train_xl\.jsonl:2[012]: .*nearly a copy",
    ),
    "a size that is not nested": (
        lambda content: replace(
            content,
            parts={
                **content.parts,
                "train_xs": Dataset(
                    [*content.parts["train_xs"][:4], *content.parts["train_xl"][20:28]], "train_xs"
                ),
            },
        ),
        r"data/train_xs\.jsonl:5: it is not the beginning of train_xl",
    ),
    "a licence other than its source's": (
        _in("dev", 0, _origin(licence="CC-BY-NC-4.0")),
        r"data/dev\.jsonl:1: 1 problem .*their licence is CC-BY-NC-4\.0, release\.toml says",
    ),
}
"""Faults that go through every file alike: a plant in the content, and the one thing told."""


@pytest.mark.parametrize("name", IN_PROBLEMS)
def test_a_fault_that_all_files_share_is_found_and_nothing_else(
    name: str, small: Released, tmp_path: Path
) -> None:
    """A release written whole with a fault in its problems has that one fault."""
    plant, told = IN_PROBLEMS[name]
    faults = found(rewritten(plant(small.content), tmp_path / "new" / "it"))
    matching = [fault for fault in faults if re.match(told, fault)]
    assert matching, faults
    allowed = ("is not made from", "the order is not")  # an id or a place changes with the text
    rest = [f for f in faults if f not in matching and not any(a in f for a in allowed)]
    assert not rest


@pytest.mark.parametrize(
    ("plant", "told"),
    [
        (_remove("PUSH.md"), "PUSH.md: it is missing"),
        (_add("more.md", "more"), "more.md: release.json does not name it; remove it"),
        (_line("CANARY", 1, lambda line: line + " "), "CANARY: its SHA-256 is not the one"),
        (_line("checksums.txt", 2, lambda line: "x"), "checksums.txt:2: 'x' is no checksum"),
        (_line("checksums.txt", 2, lambda line: "01"[line[0] == "0"] + line[1:]),
         "checksums.txt:2: the SHA-256 of"),
        (_remove("checksums.txt"), "checksums.txt: it is missing"),
        (_replace("checksums.txt", r".*  PUSH.md\n", ""), "checksums.txt: PUSH.md has no line"),
        (_record(lambda told: told["left_out"].update(bad=1)), "release.json: its digest is not"),
        (_remove("release.json"), "release.json: it can't be read"),
        (_add("release.json", "[]"), "release.json: it is not that of a release"),
        (_record(lambda record: record.pop("canary")), "release.json: canary is missing"),
        (_record(lambda r: r["about"].pop("title")), "release.json: about: title is missing"),
        (_record(lambda r: r["counts"].update(more={})), "release.json: counts has 'more'"),
        (lambda folder: (folder / "link").symlink_to("CANARY"), "link: it is a link"),
        (lambda folder: (folder / "empty").mkdir(), "empty: it is an empty folder"),
        (_remove("data/dev.jsonl"), "data/dev.jsonl: it is missing"),
        (_remove("data/dev.parquet"), "data/dev.parquet: it is missing"),
        (_remove("tombstones.jsonl"), "tombstones.jsonl: it is missing"),
    ],
)  # fmt: skip
def test_a_fault_of_the_folder_is_found(plant: Plant, told: str, copied: Path) -> None:
    """What is changed, missing or too many in the folder is found by name."""
    plant(copied)
    faults = found(copied)
    assert any(fault.startswith(told) for fault in faults), faults


def test_another_name_of_the_folder_is_found(copied: Path) -> None:
    """A release under another name than its address has that one fault."""
    address = copied.name
    (fault,) = found(copied.rename(copied.with_name("small-latest")))
    assert f"the folder's name is not its address, {address}" in fault


def test_a_sound_release_has_no_fault(small: Released, copied: Path) -> None:
    """A release as it was written has no fault, nor has a copy whose seal was made anew."""
    whole = verify(small.folder, private=small.key)
    assert (whole.faults, whole.notes, whole.private) == ((), (), True)
    assert found(seal(copied)) == []


def test_a_release_of_another_version_is_checked_for_what_it_counts(copied: Path) -> None:
    """What another winosmith wrote is not compared word for word, and that is told."""
    sealed = seal(copied, made_with="winosmith 0.0.1")
    seen = verify(sealed)
    assert not seen.faults
    assert "made with winosmith 0.0.1" in seen.notes[0]
    _replace("README.md", r"\| dev \| 16 \|", "| dev | 17 |")(sealed)
    assert [f.where.partition(":")[0] for f in verify(seal(sealed)).faults] == ["README.md"]


def _private(folder: Path, test: Dataset) -> Path:
    """Write a private folder with all that one may hold."""
    write_sets(folder, {"test": test})
    (folder / "test-labels.lst").write_text("1\n2\n", "utf-8")
    return folder


def test_what_is_withheld_is_found(small: Released, tmp_path: Path) -> None:
    """A withheld problem and ids from before the build are found, given the private folder."""
    from winosmith.records import canonical, problem_record

    test = sets()["test"]
    private = _private(tmp_path / "private", test)
    dev = small.content.parts["dev"]
    record = {**problem_record(dev[2]), "stage": "aflite", "reason": "guessed"}
    (private / "withheld.jsonl").write_text(canonical(record) + "\n", "utf-8")
    old = {"id": "x", "old_id": dev[5].twin_id}
    (private / "ids.jsonl").write_text(json.dumps(old) + "\n", "utf-8")
    faults = found(small.folder, private=private)
    assert len(faults) == 3
    assert faults[0].startswith("data/dev.jsonl:3: ")
    assert "is withheld" in faults[0]
    assert all("an id from before the build" in fault for fault in faults[1:])


def test_a_checksum_of_a_private_file_is_found(copied: Path, small: Released) -> None:
    """The SHA-256 of the private labels in a public file is found: they could be tried."""
    from winosmith.outputs import sha256

    assert small.key is not None
    digits = sha256(small.key / "test-labels.lst")
    _replace("README.md", "## Uses", f"## Uses {digits}")(copied)
    faults = found(seal(copied), private=small.key)
    assert any(f.startswith("README.md: it has the SHA-256 of a private file") for f in faults)


def test_a_test_set_whose_ids_tell_is_found(tmp_path: Path) -> None:
    """With the answers at hand, ids that give them away are found in the finished release."""
    from tests.release.conftest import about
    from winosmith import practice
    from winosmith.humans import CANARY

    made = practice.corpus(60, seed=5).dataset
    mark = "winosmith canary x"
    told = Dataset(
        (replace(p, id=f"{n}-{p.answer}", twin_id=None) for n, p in enumerate(made)), "test"
    )
    blind = sorted(told, key=lambda p: (sight(p), p.id))
    test = Dataset((replace(p, answer=None, extra=Extra({CANARY: mark})) for p in blind), "test")
    folder = rewritten(Content(about(), {"test": test}, mark, history=_history()), tmp_path / "n/x")
    assert not [fault for fault in found(folder) if "answer" in fault]
    faults = found(folder, private=_private(tmp_path / "private", told))
    assert any("the id's last character gives the answer away" in fault for fault in faults)


def _history() -> str:
    return "# Changes\n\n## 1.0.0 (2026-11-21)\n\nThe first release.\n"


def test_about_is_checked_by_the_rules_of_release_toml(small: Released) -> None:
    """What release.json says of a release reads back as what its makers said."""
    record = json.loads((small.folder / "release.json").read_text("utf-8"))
    assert about_of(record["about"]) == small.content.about
