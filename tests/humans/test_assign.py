"""Assignment: whoever comes in whatever order, nobody ever sees two halves of a schema."""

import json
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from tests.conftest import examples
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

Materials = Callable[..., Dataset]

SUBJECTS = st.sampled_from([f"S{n}" for n in range(12)])
EVENTS = st.lists(
    st.tuples(SUBJECTS, st.sampled_from(["come", "another", "drop"])), min_size=1, max_size=50
)


def _lived(
    events: list[tuple[str, str]], sessions: list[tuple[Sheet, ...]], seed: int
) -> tuple[Ledger, int]:
    """Let subjects come, take another and drop out; returns the ledger and how many were refused.

    Each event is of another of the sessions in turn.
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


def _twice(ledger: Ledger, twin_of: dict[str, str]) -> list[tuple[str, str]]:
    """Return who has seen which schema on two sheets."""
    seen: Counter[tuple[str, str]] = Counter()
    for each in ledger.assignments:
        for twin in {twin_of[item.problem_id] for item in ledger.sheets[each.sheet].items}:
            seen[each.subject, twin] += 1
    return [who for who, count in seen.items() if count > 1]


def _by_twin(*datasets: Dataset) -> dict[str, str]:
    return {p.id: p.twin_id or p.id.rpartition("-")[0] for dataset in datasets for p in dataset}


@examples(60)
@given(EVENTS, st.integers(0, 9), st.sampled_from([0, 12]))
def test_nobody_sees_two_halves_whatever_happens(
    materials: Materials, events: list[tuple[str, str]], seed: int, texts: int
) -> None:
    """With arrivals, further tests, drop-outs and returns in any order, no schema is seen twice."""
    data = materials(6, texts)
    ledger, _ = _lived(events, [make_sheets(data, orders=3, seed=seed).sheets], seed)
    assert _twice(ledger, _by_twin(data)) == []


@examples(30)
@given(EVENTS, st.integers(0, 9))
def test_nobody_sees_two_halves_over_sessions_and_data_sets(
    materials: Materials, events: list[tuple[str, str]], seed: int
) -> None:
    """Nor when a later session has other data with other ids that share some of the schemas."""
    data = materials(8)
    later = Dataset(
        replace(p, id=f"new-{p.id}", twin_id=f"new-{p.twin_id}") for p in data[6:].problems
    )
    sessions = [
        make_sheets(data, seed=seed).sheets,
        make_sheets(later, seed=seed + 1, orders=2).sheets,
    ]
    ledger, _ = _lived(events, sessions, seed)
    twin_of = _by_twin(data) | {p.id: (p.twin_id or "").removeprefix("new-") for p in later}
    assert _twice(ledger, twin_of) == []


@examples(30)
@given(st.permutations([f"S{n}" for n in range(19)]), st.integers(0, 9), st.integers(1, 4))
def test_tests_and_orders_are_taken_alike_often(
    materials: Materials, subjects: list[str], seed: int, orders: int
) -> None:
    """After each arrival, in whatever order, tests and their orders differ by one taker at most."""
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
def test_who_comes_later_fills_what_drop_outs_left(
    materials: Materials, dropping: list[bool], seed: int
) -> None:
    """Whoever drops out, as many new people later the versions are taken alike often again."""
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


def test_half_begin_with_the_common_test_and_half_take_it_second(materials: Materials) -> None:
    """Of 20 who take two tests, 10 have the common one first; the versions are taken by 10 each."""
    sheets = make_sheets(materials(6, 10)).sheets
    ledger, first = Ledger(), []
    for at in range(20):
        ledger, sheet = assign(ledger, sheets, f"S{at}")
        first.append(sheet.test)
        ledger, _ = assign(ledger, sheets, f"S{at}", new_sheet=True)
    assert Counter(test == "common" for test in first) == {True: 10, False: 10}
    taken = Counter(ledger.sheets[each.sheet].test for each in ledger.assignments)
    assert taken == {"common": 20, "a": 10, "b": 10}
    with pytest.raises(DataError, match="S0 can't take any test"):
        assign(ledger, sheets, "S0", new_sheet=True)


def test_who_asks_for_the_other_half_is_refused_and_told_where(materials: Materials) -> None:
    """The refusal names the subject, a problem, and the sheet on which its other half stood."""
    sheets = make_sheets(materials(6)).sheets
    ledger, sheet = assign(Ledger(), sheets, "S01")
    other = "b" if sheet.test == "a" else "a"
    with pytest.raises(
        DataError,
        match=rf"S01 .*: test {other} has 'w\d-\d' and 5 more, related to .* {sheet.code}",
    ):
        assign(ledger, sheets, "S01", test=other)
    dropped = ledger.with_state("S01", "dropped")
    assert dropped.count_takers(sheet.code) == 0
    with pytest.raises(DataError, match="S01 can't take any"):
        assign(dropped, sheets, "S01")


def test_who_has_a_sheet_is_told_the_same_again(materials: Materials) -> None:
    """Asking twice gives the same sheet, and the ledger stays as it is."""
    sheets = make_sheets(materials(6, 10), orders=3).sheets
    ledger, sheet = assign(Ledger(), sheets, "S01")
    assert assign(ledger, sheets, "S01") == (ledger, sheet)


def test_a_copy_of_a_text_in_other_data_counts_as_seen(materials: Materials) -> None:
    """A text of the common test is not asked again in a later session under another id."""
    texts = materials(0, 6)
    ledger, _ = assign(Ledger(), make_sheets(texts).sheets, "S01")
    again = make_sheets(Dataset(replace(p, id=f"x{p.id}") for p in texts[:2].problems)).sheets
    with pytest.raises(DataError, match="S01 can't take any"):
        assign(ledger, again, "S01")
    assert assign(ledger, again, "S02")[1] == again[0]


def test_a_schema_that_looks_alike_counts_as_seen() -> None:
    """Who took a test is given no schema of later data that shares 70 % of the words with one."""

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


def test_the_seed_alone_decides(materials: Materials) -> None:
    """The same arrivals give the same sheets, in whatever order the sheets are named."""
    sheets = make_sheets(materials(6, 10), orders=3).sheets
    names = [f"S{n}" for n in range(12)]

    def given(sheets: list[Sheet], seed: int) -> tuple[Assignment, ...]:
        ledger = Ledger()
        for name in names:
            ledger, _ = assign(ledger, sheets, name, seed=seed)
        return ledger.assignments

    mixed = list(sheets[::-1])
    assert given(list(sheets), 3) == given(mixed, 3)
    assert given(list(sheets), 3) != given(list(sheets), 4)


@pytest.mark.parametrize("name", ["", "Ann Smith", "a@b.org", "../S1", "x" * 17])
def test_a_code_that_can_not_be_one_is_refused(materials: Materials, name: str) -> None:
    """Names, addresses and paths are no codes."""
    with pytest.raises(RecipeError, match="it must be up to 16 letters"):
        assign(Ledger(), make_sheets(materials(2)).sheets, name)


def test_an_unknown_test_is_refused(materials: Materials) -> None:
    """The message says which tests there are."""
    with pytest.raises(DataError, match="unknown test 'c'; the tests are a, b"):
        assign(Ledger(), make_sheets(materials(2)).sheets, "S1", test="c")


def test_a_ledger_comes_back_from_its_file(materials: Materials, tmp_path: Path) -> None:
    """What is written is what is read; a file that does not exist is an empty ledger."""
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


def test_two_desks_lose_nobody(materials: Materials, tmp_path: Path) -> None:
    """Eight threads enrol five people each into one ledger: all forty are in it."""
    sheets = make_sheets(materials(4)).sheets
    path = tmp_path / "ledger.json"

    def assign_all(desk: int) -> None:
        for at in range(5):
            with lock_ledger(path):
                write_ledger(assign(read_ledger(path), sheets, f"D{desk}-{at}")[0], path)

    with ThreadPoolExecutor(8) as desks:
        list(desks.map(assign_all, range(8)))
    assert len({each.subject for each in read_ledger(path).assignments}) == 40


def test_a_leftover_lock_file_blocks_nobody(tmp_path: Path) -> None:
    """The lock file of a killed process does not keep others from the ledger."""
    (tmp_path / "ledger.json.lock").touch()
    with lock_ledger(tmp_path / "ledger.json"):
        pass


def test_a_ledger_that_stays_locked_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After ten seconds the message names the ledger."""
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
def test_a_ledger_that_was_damaged_is_refused(
    materials: Materials, tmp_path: Path, change: dict[str, object]
) -> None:
    """Nothing is guessed: the message names the file."""
    path = tmp_path / "ledger.json"
    write_ledger(assign(Ledger(), make_sheets(materials(2)).sheets, "S1")[0], path)
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), **change}), "utf-8")
    with pytest.raises(FormatError, match=r"ledger\.json: "):
        read_ledger(path)
