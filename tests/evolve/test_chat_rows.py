"""Rows and replies with planted faults: each fault is found, and nothing else is."""

from __future__ import annotations

import itertools
import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winosmith import Problem, formats
from winosmith.chat import Reply
from winosmith.evolve._chat_dialogue import Dialogue, row_of
from winosmith.evolve._chat_rows import REPAIRED, Checked, Checker, read_rows, same_sentence
from winosmith.text import edit_distance, tokens

HERE = Path(__file__).parent


def _records(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (HERE / name).read_text("utf-8").split("\n") if line]


REPLIES = _records("scripted_replies.jsonl")

KEPT = REPAIRED | {"distance"}
"""Faults that are put right."""


def _root(record: dict[str, Any]) -> Problem:
    options = (record["option1"], record["option2"])
    return Problem(record["root"], record["sentence"], options, record["answer"] - 1)


def _checked() -> list[tuple[dict[str, Any], Checked]]:
    """Return each scripted row with what is found in it, checked in their order."""
    checkers: dict[str, Checker] = {}
    taken: dict[str, set[str]] = {}
    found = []
    for record in _records("scripted_rows.jsonl"):
        name = record["root"]
        if "row" not in record:
            checkers[name], taken[name] = Checker(_root(record), 0.6, "correct"), set()
            continue
        rows = read_rows(Reply(record["row"]))
        assert len(rows) == 1, record["row"]
        checked = checkers[name].check(rows[0], taken[name])
        if checked.problem:
            taken[name].add(same_sentence(checked.sentence))
        found.append((record, checked))
    return found


ROWS = _checked()


def test_planted_faults_are_found() -> None:
    """Of 170 planted faults of 13 kinds in 256 rows, each is found by name."""
    planted: Counter[str] = Counter()
    missed = []
    for record, checked in ROWS:
        planted.update(record["faults"])
        missed += [(kind, record["row"]) for kind in set(record["faults"]) - set(checked.faults)]
    assert len(ROWS) == 256
    assert planted.total() == 170
    assert len(planted) == 13
    assert min(planted.values()) >= 8
    assert missed == []


def test_clean_rows_are_accepted() -> None:
    """Of a hundred rows without a fault, each is accepted without a complaint."""
    clean = [(record, checked) for record, checked in ROWS if not record["faults"]]
    alarms = [(r["row"], c.faults) for r, c in clean if c.faults or not c.problem]
    assert len(clean) >= 100
    assert alarms == []


def test_faulty_rows_are_refused_or_put_right() -> None:
    """A row is accepted just when all that was planted in it can be put right."""
    wrong = [
        record["row"]
        for record, checked in ROWS
        if (checked.problem is not None) != KEPT.issuperset(record["faults"])
    ]
    assert wrong == []


def test_what_else_is_found_is_true() -> None:
    """Beside the planted faults, only four others are found; they are there, unplanned."""
    also = [set(checked.faults) - set(record["faults"]) for record, checked in ROWS]
    assert sorted(kind for kinds in also for kind in kinds) == [
        "absent", "absent", "distance", "distance",
    ]  # fmt: skip


def test_accepted_rows_are_unvalidated_children() -> None:
    """An accepted row is a child with its true distance, its claim, and no human's judgement."""
    for record, checked in ROWS:
        child = checked.problem
        if child is None:
            continue
        assert child.lineage is not None
        assert child.lineage.declared == len(child.lineage.edits) == checked.distance > 0
        assert child.extra["evolve.unvalidated"] is True
        assert child.origin is not None
        assert child.origin.source == "chat"
        wrong = "distance" in checked.faults and checked.claimed is not None
        assert child.extra.get("chat.claimed") == (checked.claimed if wrong else None)
        assert f",{(child.answer or 0) + 1}," in record["row"]


@pytest.mark.parametrize("script", REPLIES, ids=lambda script: script["case"])
def test_replies_in_all_kinds_of_dress(script: dict[str, Any]) -> None:
    """Rows are found in fences, tables and prose; what is missing or cut off is noticed."""
    root = Problem("u", "Ben lent his umbrella to Tom, so _ got wet on the way home.",
                   ("Ben", "Tom"), 0)  # fmt: skip
    dialogue = Dialogue(root)
    accepted = dialogue.take(Reply(script["reply"], finish=script["finish"]))
    (done,) = dialogue.rounds
    found = [fault for checked in done.rows for fault in checked.faults]
    found += ["nothing"] if not done.rows else ["cut"] if done.is_cut else []
    if "truncated" in found:
        found.remove("cut")
    assert (len(accepted), found) == (script["accepted"], script["faults"])


@pytest.mark.data
def test_what_people_wrote_passes(data_dir: Path) -> None:
    """Of WinoGrande's 10,234 halves, as rows of the other half, one is refused, for a slip."""
    refused: Counter[str] = Counter()
    halves: dict[str, list[Problem]] = defaultdict(list)
    for problem in formats.read(data_dir / "winogrande" / "train_l.jsonl"):
        halves[problem.twin_id or problem.id].append(problem)
    for twin in halves.values():
        for parent, child in itertools.permutations(twin, 2):
            distance = edit_distance(tokens(parent.sentence), tokens(child.sentence))
            answer = (child.answer or 0) + 1
            text = row_of(1, child.sentence, child.options, answer, distance)
            (row,) = read_rows(Reply(text))
            refused.update(Checker(parent, 0.6, "refuse").check(row, set()).faults)
    assert refused == {"absent": 1}  # "his first car which had nice leather seatsr"


@given(
    st.text(st.characters(exclude_categories=["C", "Z"], exclude_characters="_"), min_size=1),
    st.text(st.characters(exclude_categories=["C", "Z"], exclude_characters="_|;*\\"), min_size=1),
)
def test_whatever_is_quoted_is_read_back(first: str, second: str) -> None:
    """A row that we write is read as it was, whatever its sentence and options hold."""
    sentence = f"a, {first.replace('|', '').replace(';', '')} _ b"
    text = row_of(7, sentence, (second, "x"), 1, 3)
    if "**" in text or "\\" in text or any(mark in text for mark in "“”"):
        return
    (row,) = read_rows(Reply(text))
    assert row.cells == ("7", sentence, second, "x", "1", "3")


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    """No text of a model's makes the reader fail, nor a checker."""
    checker = Checker(Problem("r", "Sue beat Ann as _ ran.", ("Sue", "Ann"), 0), 0.6, "correct")
    for row in read_rows(Reply(text)):
        assert checker.check(row, set()).faults or len(row.cells) == 6


def test_long_lines_take_no_time() -> None:
    """A reply of a megabyte without a line end is one fault, not an hour's work."""
    for filler in (".", "-", "a_", "<think>", '"', ",", "1,"):
        rows = read_rows(Reply(filler * (1_000_000 // len(filler)) + " _ x"))
        assert [row.faults for row in rows] in ([("columns",)], [])


def test_an_option_need_not_stand_where_the_originals_did_not() -> None:
    """Where "Ann's son" is "her son" in the original, its new name may be missing, too."""
    parent = Problem("p", "Ann saw her son, and _ was glad.", ("Ann", "Ann's son"), 0)
    (row,) = read_rows(Reply('1,"Bob saw his son, and _ was glad.",Bob,Bob\'s son,1,2'))
    assert Checker(parent, 0.6, "refuse").check(row, set()).faults == ()


def test_a_glued_blank_of_the_parent_stays() -> None:
    """Where the original writes "_had", the children may, and it is no edit."""
    parent = Problem("p", "Sue beat Sally because _had a good start.", ("Sue", "Sally"), 0)
    (row,) = read_rows(Reply('1,"Sue beat Sally although _had a good start.",Sue,Sally,2,1'))
    checked = Checker(parent, 0.6, "refuse").check(row, set())
    assert (checked.faults, checked.distance) == ((), 1)


def test_distances_to_a_child_are_no_depths() -> None:
    """A child of a child declares no depth, as its distance is to its parent, not to the root."""
    root = Problem("r", "Sue beat Ann because _ ran very well.", ("Sue", "Ann"), 0)
    (row,) = read_rows(Reply('1,"Sue beat Ann although _ ran very well.",Sue,Ann,2,1'))
    child = Checker(root, 0.6, "correct").check(row, set()).problem
    assert child is not None
    (row,) = read_rows(Reply('1,"Sue beat Ann although _ ran very badly.",Sue,Ann,1,1'))
    grandchild = Checker(child, 0.6, "correct").check(row, set()).problem
    assert grandchild is not None
    assert grandchild.lineage is not None
    assert grandchild.lineage.declared is None
    assert grandchild.lineage.root == "r"
