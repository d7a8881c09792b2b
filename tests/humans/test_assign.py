"""Assignment of sheets: nobody sees both halves of a schema, in whatever order people come."""

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from tests.conftest import examples
from tests.humans.conftest import materials
from winosmith import Dataset, Problem
from winosmith.errors import DataError, FormatError, OutputError, RecipeError
from winosmith.humans import (
    Assignment,
    Ledger,
    Sheet,
    _assign,
    assign,
    lock_ledger,
    make_sheets,
    read_ledger,
    write_ledger,
)

SUBJECTS = st.sampled_from([f"S{n}" for n in range(12)])
EVENTS = st.lists(
    st.tuples(SUBJECTS, st.sampled_from(["come", "another", "drop"])), min_size=1, max_size=50
)


def _run_events(
    events: list[tuple[str, str]], sessions: list[tuple[Sheet, ...]], seed: int
) -> tuple[Ledger, int]:
    """Let subjects come, take another sheet and drop out; return the ledger and refusals.

    The sessions take turns, one per event.
    """
    ledger, refused = Ledger(), 0
    for at, (subject, event) in enumerate(events):
        if event == "drop":
            ledger = ledger.with_state(subject, "dropped")
            continue
        try:
            sheets = sessions[at % len(sessions)]
            ledger, _ = assign(ledger, sheets, subject, new_sheet=event == "another", seed=seed)
        except DataError:
            refused += 1
    return ledger, refused


def _find_repeats(ledger: Ledger, twin_of: dict[str, str]) -> list[tuple[str, str]]:
    """Return the subjects who saw a schema on two sheets, with the schema."""
    seen: Counter[tuple[str, str]] = Counter()
    for each in ledger.assignments:
        for twin in {twin_of[item.problem_id] for item in ledger.sheets[each.sheet].items}:
            seen[each.subject, twin] += 1
    return [who for who, count in seen.items() if count > 1]


def _by_twin(*datasets: Dataset) -> dict[str, str]:
    return {p.id: p.twin_id or p.id.rpartition("-")[0] for dataset in datasets for p in dataset}


@examples(60)
@given(EVENTS, st.integers(0, 9), st.sampled_from([0, 12]))
def test_nobody_sees_both_halves(events, seed, texts):
    """Subjects arrive, take further tests, drop out and return in any order."""
    data = materials(6, texts)
    ledger, _ = _run_events(events, [make_sheets(data, orders=3, seed=seed).sheets], seed)
    assert _find_repeats(ledger, _by_twin(data)) == []


@examples(30)
@given(EVENTS, st.integers(0, 9))
def test_nobody_sees_both_halves_across_sessions(events, seed):
    """The later session has other ids for some of the same schemas."""
    data = materials(8)
    later = Dataset(
        replace(p, id=f"new-{p.id}", twin_id=f"new-{p.twin_id}") for p in data[6:].problems
    )
    sessions = [
        make_sheets(data, seed=seed).sheets,
        make_sheets(later, seed=seed + 1, orders=2).sheets,
    ]
    ledger, _ = _run_events(events, sessions, seed)
    twin_of = _by_twin(data) | {p.id: (p.twin_id or "").removeprefix("new-") for p in later}
    assert _find_repeats(ledger, twin_of) == []


@examples(30)
@given(st.permutations([f"S{n}" for n in range(19)]), st.integers(0, 9), st.integers(1, 4))
def test_taker_counts_differ_by_at_most_one(subjects, seed, orders):
    sheets = make_sheets(materials(6), seed=seed, orders=orders).sheets
    ledger = Ledger()
    for subject in subjects:
        ledger, _ = assign(ledger, sheets, subject, seed=seed)
        for test in "ab":
            takers = [ledger.count_takers(s.code) for s in sheets if s.test == test]
            assert max(takers) - min(takers) <= 1
        a, b = (sum(ledger.count_takers(s.code) for s in sheets if s.test == test) for test in "ab")
        assert abs(a - b) <= 1


@examples(30)
@given(st.lists(st.booleans(), min_size=24, max_size=24), st.integers(0, 9))
def test_new_subjects_replace_drop_outs(dropping, seed):
    sheets = make_sheets(materials(6), seed=seed).sheets
    ledger = Ledger()
    for at, drops in enumerate(dropping):
        ledger, _ = assign(ledger, sheets, f"S{at}", seed=seed)
        if drops:
            ledger = ledger.with_state(f"S{at}", "dropped")
    apart = abs(ledger.count_takers(sheets[0].code) - ledger.count_takers(sheets[1].code))
    for at in range(apart):
        ledger, _ = assign(ledger, sheets, f"T{at}", seed=seed)
    assert abs(ledger.count_takers(sheets[0].code) - ledger.count_takers(sheets[1].code)) <= 1


def test_common_test_is_first_for_half_and_second_for_half():
    sheets = make_sheets(materials(6, 10)).sheets
    ledger, first = Ledger(), []
    for at in range(20):
        ledger, sheet = assign(ledger, sheets, f"S{at}")
        first.append(sheet.test)
        assert assign(ledger, sheets, f"S{at}") == (ledger, sheet)  # without `new_sheet`
        ledger, _ = assign(ledger, sheets, f"S{at}", new_sheet=True)
    assert Counter(test == "common" for test in first) == {True: 10, False: 10}
    taken = Counter(ledger.sheets[each.sheet].test for each in ledger.assignments)
    assert taken == {"common": 20, "a": 10, "b": 10}
    with pytest.raises(DataError, match="S0 can't take any test"):
        assign(ledger, sheets, "S0", new_sheet=True)


def test_second_half_is_refused_with_the_first_sheet():
    """Also after a drop-out, because the subject has seen the sheet."""
    sheets = make_sheets(materials(6)).sheets
    ledger, sheet = assign(Ledger(), sheets, "S01")
    assert assign(ledger, sheets, "S01") == (ledger, sheet)
    other = "b" if sheet.test == "a" else "a"
    refused = rf"S01 .*: test {other} has 'w\d-\d' and 5 more, related to .* {sheet.code}"
    with pytest.raises(DataError, match=refused):
        assign(ledger, sheets, "S01", test=other)
    dropped = ledger.with_state("S01", "dropped")
    assert dropped.count_takers(sheet.code) == 0
    with pytest.raises(DataError, match="S01 can't take any"):
        assign(dropped, sheets, "S01")


def test_copy_of_a_seen_text_is_refused():
    texts = materials(0, 6)
    ledger, _ = assign(Ledger(), make_sheets(texts).sheets, "S01")
    again = make_sheets(Dataset(replace(p, id=f"x{p.id}") for p in texts[:2].problems)).sheets
    with pytest.raises(DataError, match="S01 can't take any"):
        assign(ledger, again, "S01")
    assert assign(ledger, again, "S02")[1] == again[0]


def test_schema_similar_to_a_seen_one_is_refused():
    """They share 70 % of their words."""

    def alike(name: str) -> Dataset:
        return Dataset(
            Problem(f"{name}-{n}", f"{name} the small red cup hit the jug, and then _ {n}.",
                    ("cup", "jug"), 0, name)
            for n in ("broke", "held")
        )  # fmt: skip

    ledger, _ = assign(Ledger(), make_sheets(alike("Today")).sheets, "S01")
    later = make_sheets(alike("Tomorrow")).sheets
    with pytest.raises(DataError, match="S01 can't take any"):
        assign(ledger, later, "S01")
    assert assign(ledger, later, "S02")[1] in later


def test_assignments_depend_only_on_seed_and_arrivals():
    sheets = make_sheets(materials(6, 10), orders=3).sheets

    def given(sheets: tuple[Sheet, ...], seed: int) -> tuple[Assignment, ...]:
        ledger = Ledger()
        for number in range(12):
            ledger, _ = assign(ledger, sheets, f"S{number}", seed=seed)
        return ledger.assignments

    assert given(sheets, 3) == given(sheets[::-1], 3) != given(sheets, 4)


@pytest.mark.parametrize("name", ["", "Ann Smith", "a@b.org", "../S1", "x" * 17])
def test_invalid_subject_codes_are_refused(name):
    with pytest.raises(RecipeError, match="it must be up to 16 letters"):
        assign(Ledger(), make_sheets(materials(2)).sheets, name)


def test_unknown_test_is_refused():
    with pytest.raises(DataError, match="unknown test 'c'; the tests are a, b"):
        assign(Ledger(), make_sheets(materials(2)).sheets, "S1", test="c")


def test_ledger_round_trip(tmp_path):
    sheets = make_sheets(materials(4, 6), orders=2).sheets
    path = tmp_path / "ledger.json"
    assert read_ledger(path) == Ledger()
    ledger = Ledger()
    for name in ("S1", "S2", "S3"):
        ledger, _ = assign(ledger, sheets, name)
    ledger = ledger.with_state("S2", "dropped")
    assert [given.state for given in ledger.assignments] == ["given", "dropped", "given"]
    write_ledger(ledger, path)
    assert read_ledger(path) == ledger


def test_concurrent_assignments_lose_nobody(tmp_path):
    sheets = make_sheets(materials(4)).sheets
    path = tmp_path / "ledger.json"

    def assign_all(desk: int) -> None:
        for at in range(5):
            with lock_ledger(path):
                write_ledger(assign(read_ledger(path), sheets, f"D{desk}-{at}")[0], path)

    with ThreadPoolExecutor(8) as desks:
        list(desks.map(assign_all, range(8)))
    assert len({each.subject for each in read_ledger(path).assignments}) == 40


def test_leftover_lock_file_blocks_nobody(tmp_path):
    """A killed process leaves such a file."""
    (tmp_path / "ledger.json.lock").touch()
    with lock_ledger(tmp_path / "ledger.json"):
        pass


def test_locked_ledger_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(_assign, "_LOCK_TIMEOUT", 0.1)
    path = tmp_path / "ledger.json"
    with (
        lock_ledger(path),
        pytest.raises(OutputError, match=r"another process has kept .*ledger\.json locked"),
        lock_ledger(path),
    ):
        pass


@pytest.mark.parametrize(
    "change",
    [
        {"winosmith": "sheet"},
        {"version": 9},
        {"given": [{"subject": "S1"}]},
        {"given": [{"subject": "S1", "sheet": "a-1-XXXX", "state": "lost"}]},
        {"sheets": []},
    ],
)
def test_damaged_ledger_is_refused(tmp_path, change):
    path = tmp_path / "ledger.json"
    write_ledger(assign(Ledger(), make_sheets(materials(2)).sheets, "S1")[0], path)
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), **change}), "utf-8")
    with pytest.raises(FormatError, match=r"ledger\.json: "):
        read_ledger(path)
