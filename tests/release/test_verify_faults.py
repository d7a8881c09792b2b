"""Faults in one file, or in all files of a release, are found although every checksum matches."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from tests.release.conftest import (
    Plant,
    found,
    in_line,
    in_record,
    in_text,
    placed,
    rewritten,
    seal,
    with_parts,
    with_problem,
)
from winosmith import Edit, Extra, Lineage, Problem
from winosmith.release import Content, Tombstone
from winosmith.release._content import digest_text


def _parquet(change: Callable[[object], object]) -> Plant:
    """Return a plant that changes the Parquet table of dev."""

    def plant(folder: Path) -> None:
        path = folder / "data/dev.parquet"
        pyarrow.parquet.write_table(change(pyarrow.parquet.read_table(path)), path)

    return plant


def _swap_rows(table):
    """Return a table whose first two rows are exchanged."""
    return table.take([1, 0, *range(2, len(table))])


def _test_in_harness(folder: Path) -> None:
    told = json.loads((folder / "data/test.jsonl").read_text("utf-8").splitlines()[0])
    before, _, rest = told["sentence"].partition("_")
    path = folder / "harness/lm_eval/partial.jsonl"
    task = json.loads(path.read_text("utf-8").splitlines()[0])
    task |= {"id": told["id"], "before": before, "rest": rest, "label": 0}
    path.write_text(path.read_text("utf-8") + json.dumps(task) + "\n", "utf-8")


IN_FILES: list[Any] = [
    (
        in_line("data/dev.jsonl", 3, lambda line: line[:-5]),
        r"data/dev\.jsonl:3: this is not a problem: ",
    ),
    (
        in_line("data/dev.jsonl", 2, lambda line: line.replace(" _ ", " _ _ ")),
        r"data/dev\.jsonl:2: this is not a problem: the sentence has 2 blanks",
    ),
    (
        in_line("data/dev.jsonl", 4, lambda line: '{"note":"x",' + line[1:]),
        r"data/dev\.jsonl:4: this is not a problem: the record has an unknown key 'note'",
    ),
    (
        in_line(
            "data/dev.jsonl", 4, lambda line: line.replace('"extra"', '"embargo":true,"extra"')
        ),
        r"data/dev\.jsonl:4: '.*' is under embargo",
    ),
    (
        in_line("data/dev.jsonl", 2, lambda line: line + "\n" + line),
        r"data/dev\.jsonl:3: this is not a problem: the id '.*' was already used at line 2",
    ),
    (
        in_line("data/dev-labels.lst", 5, lambda line: "2" if line == "1" else "1"),
        r"data/dev-labels\.lst:5: it does not match the problems",
    ),
    (
        placed("data/test-labels.lst", "1\n" * 24),
        r"data/test-labels\.lst: it is not a file of a release",
    ),
    pytest.param(
        _parquet(_swap_rows),
        r"data/dev\.parquet: it does not match the problems",
        id="rows of Parquet in another order",
    ),
    pytest.param(
        _parquet(lambda table: table.slice(1)),
        r"data/dev\.parquet: it does not match the problems",
        id="a row of Parquet too few",
    ),
    pytest.param(
        _parquet(lambda table: table.drop_columns(["anchor"])),
        r"data/dev\.parquet: it does not match the problems",
        id="a column of Parquet too few",
    ),
    pytest.param(
        placed("data/dev.parquet", "PAR1 or so"),
        r"data/dev\.parquet: it can't be compared with the problems",
        id="a file that is not Parquet",
    ),
    pytest.param(
        in_text("data/dev.jsonl", '"extra":{', '"extra":{"release.judges":"x",'),
        r"data/dev\.parquet: it can't be compared with the problems",
        id="a number of judges that is a text",
    ),
    (
        placed("tombstones.jsonl", '{"id":"x","last":"1","withdrawn":"2","sentence":"The _."}\n'),
        r"tombstones\.jsonl:1: this is not a tombstone: unknown key 'sentence'",
    ),
    (
        in_line(
            "data/dev.jsonl",
            2,
            lambda line: '{"problem_id":"a","sentence":"The _ fell.","candidate":"cup"}',
        ),
        r"data/dev\.jsonl:2: this is not a problem: it is a claim",
    ),
    (lambda folder: (folder / "LICENCES.md").unlink(), r"LICENCES\.md: it is missing"),
    (
        lambda folder: (folder / "harness/lm_eval/small_partial.yaml").unlink(),
        r"harness/lm_eval/small_partial\.yaml: it is missing",
    ),
    pytest.param(
        in_text("data/dev.jsonl", '"extra":{', f'"extra":{{"release.judges":{2**70},'),
        r"data/dev\.parquet: it can't be compared with the problems",
        id="a number of judges that no table can contain",
    ),
    (_test_in_harness, r"harness/lm_eval/partial\.jsonl:17: it does not match the problems"),
    (
        in_text("harness/inspect_ai/problems.jsonl", r'"target": "A"', '"target": "B"'),
        r"harness/inspect_ai/problems\.jsonl:\d+: it does not match the problems",
    ),
    (
        placed("harness/lm_eval/test.txt", "1\n2\n"),
        r"harness/lm_eval/test\.txt: it is not a file of a release",
    ),
    (
        in_line("harness/lm_eval/partial.jsonl", 2, lambda line: line[:-5]),
        r"harness/lm_eval/partial\.jsonl:2: ",
    ),
    (placed("notes.txt", "mine"), r"notes\.txt: it is not a file of a release"),
    (placed("private/test.jsonl", "{}\n"), r"private/test\.jsonl: it is not a file of a release"),
    (
        in_record(lambda record: record["counts"]["dev"].update(problems=17)),
        r"release\.json: its counts of dev do not match the problems",
    ),
    (
        in_record(lambda record: record["digests"].update(dev="0")),
        r"release\.json: its digests of dev do not match the problems",
    ),
    (
        in_record(lambda record: record["configurations"]["xl"].update(test="dev")),
        r"release\.json: its configurations of xl do not match the problems",
    ),
    (
        in_record(lambda record: record.update(disjoint=["twin", "source"])),
        r"data/train_xs\.jsonl:1: .* on two sides of a split: both are from the source 'practice'",
    ),
    (
        in_record(lambda record: record["about"].update(licence="CC0-1.0")),
        r"release\.json: the source 'practice': Apache-2\.0 asks for attribution, but CC0-1\.0",
    ),
    (
        in_record(lambda record: record["about"]["source"].pop()),
        r"data/train_xl\.jsonl:\d+: 1 problem .*no licence is stated for the source 'person'",
    ),
]
"""Faults with updated checksums, digest and folder name: a plant, and the expected message."""


@pytest.mark.parametrize(("plant", "fault"), IN_FILES)
def test_fault_in_a_file_is_found_despite_checksums(plant, fault, copied):
    plant(copied)
    faults = found(seal(copied))
    assert any(re.match(fault, one) for one in faults), faults
    assert not [one for one in faults if "SHA-256 differs" in one or "address" in one]


def _extra(**more: object) -> Callable[[Problem], Problem]:
    told = {key.replace("__", "."): value for key, value in more.items()}
    return lambda p: replace(p, extra=Extra({**p.extra, **told}))


def _named(content: Content, problem: Problem) -> Problem:
    """Return a problem with the id that belongs to its sentence and options."""
    return replace(problem, id=f"{content.about.name}-{digest_text(problem)[:12]}")


def _copy_across(change: Callable[[Problem], Problem]) -> Callable[[Content], Content]:
    """Return a plant that adds a changed copy of a training problem to dev."""

    def plant(content: Content) -> Content:
        model = content.parts["train_xl"][20]
        other = _named(content, change(replace(model, twin_id=None)))
        return with_parts(content, dev=[*content.parts["dev"], other])

    return plant


def _halves_across(
    one: tuple[str, tuple[str, ...]], other: tuple[str, tuple[str, ...]]
) -> Callable[[Content], Content]:
    """Return a plant that adds one text to train_xl and another to dev, without a twin id."""

    def plant(content: Content) -> Content:
        for part, (sentence, options), answer in (("train_xl", one, 0), ("dev", other, 1)):
            half = replace(
                content.parts[part][-1], sentence=sentence, options=options, answer=answer,
                blank=sentence.index("_"), twin_id=None, lineage=None, pronoun=None,
            )  # fmt: skip
            whole = [*content.parts[part], _named(content, half)]
            content = with_parts(content, **{part: whole})
        return content

    return plant


def _twin_across(content: Content) -> Content:
    twin = content.parts["train_xl"][20].twin_id
    return with_problem(content, "dev", 0, lambda p: replace(p, twin_id=twin))


def _family_across(content: Content) -> Content:
    root = content.parts["train_xl"][20].id
    lineage = Lineage(root, root, (Edit("insert", 0, "", "So"),))
    return with_problem(content, "dev", 0, lambda p: replace(p, lineage=lineage))


def _withdrawn(content: Content) -> Content:
    stone = Tombstone(content.parts["dev"][3].id, "0.9.0", "0.9.5")
    return replace(content, tombstones=(stone,))


def _in(part: str, row: int, change: Callable[[Problem], Problem]) -> Callable[[Content], Content]:
    return lambda content: with_problem(content, part, row, change)


def _origin(**changes: str) -> Callable[[Problem], Problem]:
    return lambda p: replace(p, origin=replace(p.origin, **changes))


IN_PROBLEMS: list[Any] = [
    (
        _in("test", 4, lambda p: replace(p, answer=0)),
        r"data/test\.jsonl:5: '.*' has an answer, although it is in test",
    ),
    (
        _in("test", 2, _extra(wsc__correct="A")),
        r"data/test\.jsonl:3: '.*' has 'wsc\.correct', which may reveal its answer",
    ),
    (
        _in("train_xl", 30, lambda p: replace(p, embargo=True)),
        r"data/train_xl\.jsonl:31: '.*' is under embargo",
    ),
    (
        _in("dev", 6, lambda p: replace(p, extra=Extra())),
        r"data/dev\.jsonl:7: '.*' does not contain the canary",
    ),
    (
        _in("train_xl", 31, lambda p: replace(p, answer=None)),
        r"data/train_xl\.jsonl:32: '.*' has no answer, although it is not in test",
    ),
    (
        _in("dev", 0, _origin(author="ann@example.org")),
        r"data/dev\.jsonl:1: '.*' has a contributor name that looks like an email address",
    ),
    (
        _in("dev", 0, _origin(created="2026-11-21T13:05")),
        r"data/dev\.jsonl:1: '.*' reveals the time at which it was written",
    ),
    (
        _in("test", 0, lambda p: replace(p, id="small-answer-1")),
        r"data/test\.jsonl:1: 'small-answer-1' has an id that is not derived from its text",
    ),
    (
        lambda content: with_parts(content, test=reversed(content.parts["test"])),
        r"data/test\.jsonl:2: test is not sorted by a digest of its texts",
    ),
    (_withdrawn, r"tombstones\.jsonl:1: '.*' is withdrawn, but still published"),
    (_twin_across, r"data/train_xl\.jsonl:21: .*\(data/dev\.jsonl:1\).*halves of the twin"),
    (_family_across, r"data/train_xl\.jsonl:21: .*\(data/dev\.jsonl:1\).*belong to the family of"),
    (
        _copy_across(lambda p: replace(p, sentence=p.sentence.replace("The", "THE").upper())),
        r"data/train_xl\.jsonl:2[012]: .* are on two sides .*: ",
    ),
    (
        _copy_across(lambda p: replace(p, sentence="Well, " + p.sentence)),
        r"data/train_xl\.jsonl:2[012]: .*near-duplicate",
    ),
    pytest.param(
        _halves_across(
            (
                "The crane lifted the barrel over a fence because the _ was strong.",
                ("crane", "barrel"),
            ),
            (
                "Slowly the crane lifted the barrel, and then the _ was full of rain.",
                ("barrel", "crane"),
            ),
        ),
        r"data/train_xl\.jsonl:42: 'small-\w+' and 'small-\w+' \(data/dev\.jsonl:17\) are on two",
        id="unmarked halves with half of their words in common",
    ),
    pytest.param(
        _halves_across(
            (
                "Do you see the shark near the minnow? I hope the _ is not eaten.",
                ("shark", "minnow"),
            ),
            (
                "Do you see the shark near the minnow? I hope the _ is not hungry.",
                ("the big shark", "minnow"),
            ),
        ),
        r"data/train_xl\.jsonl:42: 'small-\w+' and 'small-\w+' \(data/dev\.jsonl:17\) are on two",
        id="unmarked halves of which one option was changed",
    ),
    (
        lambda content: with_parts(
            content, train_xs=[*content.parts["train_xs"][:4], *content.parts["train_xl"][20:28]]
        ),
        r"data/train_xs\.jsonl:5: it is not the beginning of train_xl",
    ),
    (
        _in("dev", 0, _origin(licence="CC-BY-NC-4.0")),
        r"data/dev\.jsonl:1: 1 problem .*their licence is CC-BY-NC-4\.0, but release\.toml states",
    ),
]
"""Faults in all files of a release: a plant in its content, and the expected message."""


@pytest.mark.parametrize(("plant", "fault"), IN_PROBLEMS)
def test_shared_fault_is_the_only_fault(plant, fault, small, tmp_path):
    faults = found(rewritten(plant(small.content), tmp_path / "new" / "it"))
    matching = [one for one in faults if re.match(fault, one)]
    assert matching, faults
    allowed = ("is not derived from", "the order is not")  # both depend on the text
    rest = [f for f in faults if f not in matching and not any(a in f for a in allowed)]
    assert not rest


def _swap_twins(content: Content) -> Content:
    """Return the content with a twin of dev and a twin of train exchanged."""
    dev, train = list(content.parts["dev"]), list(content.parts["train_xl"])
    dev[:2], train[30:32] = train[30:32], dev[:2]
    return with_parts(content, dev=dev, train_xl=train)


def _moved(content: Content) -> Content:
    dev, train = content.parts["dev"], content.parts["train_xl"]
    return with_parts(content, dev=dev[2:], train_xl=[*train, *dev[:2]])


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        (_in("dev", 3, lambda p: replace(p, answer=1 - (p.answer or 0))), ["dev"]),
        (_in("train_xl", 30, lambda p: replace(p, answer=1 - (p.answer or 0))), ["train_xl"]),
        (_in("dev", 0, lambda p: replace(p, twin_id=None)), ["dev"]),
        (_swap_twins, ["train_xl", "dev"]),
        (_moved, ["train_xl", "dev"]),
        (lambda content: with_parts(content, dev=content.parts["dev"][2:]), ["dev"]),
    ],
)
def test_consistent_change_contradicts_the_digests(change, parts, small, tmp_path):
    folder = rewritten(change(small.content), tmp_path / "new" / "it")
    digests = json.loads((small.folder / "release.json").read_text("utf-8"))["digests"]
    faults = [fault.partition(";")[0] for fault in found(seal(folder, digests=digests))]
    assert faults == [f"release.json: its digests of {p} do not match the problems" for p in parts]
