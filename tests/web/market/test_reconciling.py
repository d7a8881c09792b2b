"""A market's export, which is read strictly and applied once."""

import csv
import os
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.web import world
from tests.web.making import fresh, single
from tests.web.market import making as m
from winosmith.errors import InputError
from winosmith.web.judge.submissions import withdraw_twin
from winosmith.web.market.exports import apply_plan, plan_changes, read_export
from winosmith.web.market.ledger import compute_ledger
from winosmith.web.market.studies import read_ids, screen_workers
from winosmith.web.market.workers import (
    finish_participation,
    measure_workload,
    start_participation,
)
from winosmith.web.people.privacy import erase
from winosmith.web.problems.models import Twin


def reconcile(made: Any, file: Path, *, final: bool = False, apply: bool = True) -> Any:
    """Reconcile a study with a market's export, which was saved to the file; return the plan."""
    saved = datetime.fromtimestamp(file.stat().st_mtime, UTC)
    rows = read_export(file, made.provider, made.currency)
    found = plan_changes(made, rows, final=final, sent=saved)
    if apply:
        apply_plan(made, found)
    return found


def _let_two_workers_finish(made: Any) -> tuple[list[Any], list[Any]]:
    done = [m.judged(made, n=n) for n in (1, 2)]
    for part, _half in done:
        finish_participation(part)
    return [fresh(part) for part, _half in done], [half for _part, half in done]


def test_export_is_applied_once(db, tmp_path):
    """Planning changes nothing, and plans contain no market ids.

    The total includes each payment once, also those to unknown and to erased workers.
    """
    made, _ = m.study(1)
    parts, halves = _let_two_workers_finish(made)
    file = m.export(tmp_path / "x.csv", [(1, "APPROVED"), (2, "RETURNED"), (7, "APPROVED")])
    before = world.state_of_all()
    planned = reconcile(made, file, apply=False)
    assert world.state_of_all() == before
    done = reconcile(made, file)
    assert done.changes == planned.changes
    assert [(c.verdict, c.paid, c.votes) for c in done.changes] == [
        ("approved", Decimal("2.00"), 1), ("returned", Decimal(0), 1),
    ]  # fmt: skip
    assert (done.unknown, done.unmatched) == ([4], Decimal("2.00"))
    assert (compute_ledger(fresh(made)).total, made.unmatched) == (Decimal(4), Decimal(2))
    assert done.missing == []
    assert m.worker(1) not in repr(done)
    assert [fresh(half).state for half in halves] == ["valid", "judging"]
    after = world.state_of_all()
    again = reconcile(made, file)
    assert (again.changes, again.unchanged) == ([], 2)
    assert world.state_of_all() == after
    erase(parts[0].person, texts=False)
    assert reconcile(made, file).unknown == [2, 4]
    assert compute_ledger(fresh(made)).total == Decimal(4)


def test_only_a_final_export_rejects_missing_workers(db, tmp_path):
    """Workers who were approved before stay approved."""
    made, _ = m.study(1)
    parts, halves = _let_two_workers_finish(made)
    first = m.export(tmp_path / "one.csv", [(1, "APPROVED")])
    told = reconcile(made, first)
    assert told.missing == [parts[1]]
    assert [fresh(half).state for half in halves] == ["valid", "judging"]
    none = m.export(tmp_path / "none.csv", [])
    now = none.stat().st_mtime
    os.utime(none, (now - 3600, now - 3600))  # downloaded before anybody started
    told = reconcile(made, none, final=True)
    assert (told.changes, fresh(parts[1]).verdict) == ([], "waiting")
    os.utime(none, (now, now))
    told = reconcile(made, none, final=True)
    assert [c.verdict for c in told.changes] == ["rejected"]
    assert [fresh(half).state for half in halves] == ["valid", "judging"]
    assert (fresh(parts[1]).verdict, parts[1].said) == ("rejected", "not in the export")


def test_submission_of_another_worker_is_doubted(db, tmp_path):
    made, _ = m.study(1)
    half = m.twin(halves=1)[0]
    part = m.working(made, 1, submission=m.worker(1002))  # worker 1 says submission 2
    m.give(part.person)
    file = m.export(tmp_path / "x.csv", [(1, "APPROVED"), (2, "APPROVED")])
    told = reconcile(made, file)
    assert told.changes == []
    assert told.missing == []
    assert [(line, "another" in why) for line, why in told.doubts] == [(2, True), (3, True)]
    assert fresh(half).state == "judging"


def test_wrong_codes_and_incomplete_work_are_noted(db, tmp_path):
    made, _ = m.study(1)
    _let_two_workers_finish(made)
    m.working(made, 3)
    file = m.export(tmp_path / "x.csv", [(1, "AWAITING REVIEW"), (3, "APPROVED")], code="STOLEN")
    told = reconcile(made, file, apply=False)
    notes = [why for _line, why in told.notes]
    assert [note.split(",")[0] for note in notes] == [
        "the code differs from the code that the site issued", "a code was entered", "approved",
    ]  # fmt: skip


def test_return_withdraws_the_twins_and_ends_the_work(db, tmp_path):
    made, _ = m.study(1, kind="write")
    part = m.working(made)
    half = single("mine-a", by=part.person, state="held")
    file = m.export(tmp_path / "x.csv", [(1, "TIMED-OUT")])
    reconcile(made, file)
    part.refresh_from_db()
    assert fresh(half).state == "withdrawn"
    assert part.state == "left"


def test_revision_is_paid_and_withdrawn_instead_of_the_old_twin(db, tmp_path):
    made, _ = m.study(2, kind="write")
    part = m.working(made)
    old = single("old-a", by=part.person, state="revised").twin
    half = single("new-a", by=part.person, state="judging")
    Twin.objects.filter(pk=half.twin_id).update(revises=old)
    assert measure_workload(part).done == 1
    reconcile(made, m.export(tmp_path / "x.csv", [(1, "REJECTED")]))
    assert fresh(half).state == "withdrawn"
    assert measure_workload(part).done == 0


def test_votes_count_if_a_rejection_is_reviewed_and_reversed(db, tmp_path):
    part, half = m.judged()
    for status, state in (
        ("REJECTED", "judging"), ("AWAITING REVIEW", "judging"), ("APPROVED", "valid")
    ):  # fmt: skip
        file = m.export(tmp_path / "x.csv", [(1, status)])
        reconcile(part.study, file)
        assert fresh(half).state == state


def test_work_withdrawn_after_completion_is_noted(db, tmp_path):
    made, _ = m.study(1, kind="write")
    part = m.working(made)
    row = single("mine-a", by=part.person, state="held").twin
    finish_participation(part)
    assert compute_ledger(made).entries[0].notes == ()
    withdraw_twin(part.person, row, "")
    file = m.export(tmp_path / "x.csv", [(1, "AWAITING REVIEW")])
    told = reconcile(made, file, apply=False)
    assert told.notes == [(2, "all the work was done, but some of it was withdrawn")]
    assert compute_ledger(made).entries[0].notes == (
        "all the work was done, but some of it was withdrawn",
    )


def test_export_of_a_generic_market_is_read(db, tmp_path):
    """The columns `paid` and `seconds` are optional."""
    made, _ = m.study(1, provider="generic")
    part = start_participation(made, m.arrival(made, submission=""))
    file = tmp_path / "x.csv"
    file.write_text(f"worker,status,paid,seconds\n{m.worker(1)},approved,1.25,60\n")
    reconcile(made, file)
    assert (fresh(part).verdict, part.market_seconds) == ("approved", 60)
    assert part.paid == Decimal("1.25")
    assert "paid although no work was done" in compute_ledger(made).entries[0].notes


def test_a_worker_returns_a_submission_on_request(db, tmp_path):
    """Without work and without a short code, the site asks for it: the work still counts."""
    made, _ = m.study(2)
    part, half = m.judged(made)
    finish_participation(part)
    for status in ("TIMED-OUT", "RETURNED"):
        reconcile(made, m.export(tmp_path / "x.csv", [(1, status)]))
        assert (fresh(part).verdict, part.said, part.paid) == ("approved", status, 0)
        assert (compute_ledger(made).due, fresh(half).state) == (Decimal(1), "valid")
    reconcile(made, m.export(tmp_path / "x.csv", [(1, "REJECTED")]))
    assert (compute_ledger(made).due, fresh(half).state) == (0, "judging")


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_two_submissions_of_a_worker_are_a_doubt(db, tmp_path, order):
    """The link had no submission's id, so nobody knows which one is the work on the site."""
    made, _ = m.study(1, provider="generic")
    part = start_participation(made, m.arrival(made, submission=""))
    rows = [f"{m.worker(1)},first,returned", f"{m.worker(1)},second,approved"]
    lines = ["worker,submission,status", *(rows[at] for at in order)]
    (tmp_path / "x.csv").write_text("\n".join(lines) + "\n")
    told = reconcile(made, tmp_path / "x.csv")
    assert (told.changes, told.missing, fresh(part).verdict) == ([], [], "waiting")
    assert [line for line, _why in told.doubts] == [2, 3]


FAULTS = {
    "a,b\n1,2\n": ":1: the column 'worker' is missing",
    "worker,status,status\n": ":1: the column 'status' occurs twice",
    "worker,status\nabcd\n": ":2: the row has 1 cells",
    "worker,status\nabcd,approved,x\n": ":2: the row has 3 cells",
    "worker,status\n=x(),approved\n": ":2: the column 'worker' has no valid id",
    "worker,status\nabcd,fine\n": ":2: 'status' is 'fine'; it must be one of",
    "worker,status,paid\nabcd,approved,much\n": ":2: 'paid': 'much' is not an amount of money",
    "worker,status,paid\nabcd,approved,NaN\n": ":2: 'paid': 'NaN' is not an amount of money",
    "worker,status,paid\nabcd,approved,1_0\n": ":2: 'paid': '1_0' is not an amount of money",
    "worker,status,paid\nabcd,approved,1.005\n": ":2: 'paid': '1.005' is not an amount of money",
    "worker,status,paid\nabcd,approved,2.50 EUR\n": ":2: 'paid': '2.50 EUR' is in a currency other",
    "worker,status,paid\nabcd,approved,-1\n": ":2: 'paid': '-1' is not an amount of money",
    "worker,status,seconds\nabcd,approved,1e999\n": ":2: 'seconds' is '1e999', which is not a num",
    "worker,status\nabcd,approved\n\nabcd,returned\n": ":4: repeats the submission on line 2",
    'worker,status\n"abcd,approved\n': ":2: this is not a row of a table",
    "worker,status\n\udcff,approved\n": "here (or in another encoding, such as cp1250))",
    "PK\x03\x04": "save a workbook as CSV UTF-8",
}


@pytest.mark.parametrize("text", FAULTS, ids=lambda text: text.encode("utf-8", "replace")[-20:])
def test_faulty_export_is_refused_with_its_line(site, tmp_path, text):
    file = tmp_path / "x.csv"
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError, match=r"x\.csv") as told:
        read_export(file, "generic", "GBP")
    assert FAULTS[text] in str(told.value)


def test_a_table_of_ids_screens(db, tmp_path):
    """A study admits the ids of a table's column; faults have their line."""
    table = tmp_path / "workers.csv"
    table.write_text("Worker ID,Approval rate\nAAAAAAAA1,99.5 %\nAAAAAAAA2,98 %\n")
    study, _ = m.study(provider="generic", code="")
    assert screen_workers(study, read_ids(table, "generic"), allowed=True) == 2
    assert study.invited_only

    for text, where in (
        ("worker id\nnot an id\n", ":2: this is not an id of generic"),
        ("AAAAAAAA1\nx\n", ":2: this is not an id"),
        ("one,two\nAAAAAAAA1,1\n", ":1: there is no column named worker"),
        ("worker id,rate\n", "there are no ids"),
    ):
        table.write_text(text)
        with pytest.raises(InputError) as told:
            read_ids(table, "generic")
        assert where in str(told.value)


@pytest.mark.parametrize("separator", [";", "\t"])
def test_semicolons_and_tabs_are_read_as_separators(db, tmp_path, separator):
    file = m.export(tmp_path / "x.csv", [(1, "APPROVED"), (2, "RETURNED")])
    rows = read_export(file, "prolific", "GBP")
    cells = csv.reader(file.read_text().splitlines())
    with (tmp_path / "y.csv").open("w") as other:
        csv.writer(other, delimiter=separator).writerows(cells)
    assert read_export(tmp_path / "y.csv", "prolific", "GBP") == rows
    (tmp_path / "ids.csv").write_text(f"worker id{separator}rate\nAAAAAAAA1{separator}99\n")
    assert read_ids(tmp_path / "ids.csv", "generic") == ["AAAAAAAA1"]
