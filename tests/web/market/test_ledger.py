"""The ledger: time, hourly pay, payments, and amounts due."""

import csv
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from tests.web.conftest import BOTH
from tests.web.judge.making import gold
from tests.web.making import fresh
from tests.web.market import making as m
from tests.web.market.test_reconciling import reconcile
from tests.web.run.conftest import done, job_of, send
from tests.web.together import at_once
from winosmith.errors import InputError
from winosmith.web.judge.exclusion import resume_judge
from winosmith.web.judge.models import Slot
from winosmith.web.market.ledger import compute_ledger, iter_payments, read_bonuses, record_bonuses
from winosmith.web.market.models import Identity, Participation, Payment
from winosmith.web.market.workers import count_work_seconds, finish_participation
from winosmith.web.people.models import get_pseudonym
from winosmith.web.people.privacy import delete_old_rows, erase

__all__ = ["done", "send"]


def _set(part: Any, **fields: Any) -> Any:
    for name, value in fields.items():
        setattr(part, name, value)
    part.save()
    return part


def _study() -> tuple[Any, dict[str, Any]]:
    """Make a study and six workers in different states, who judged `done` problems each."""
    made, _ = m.study(2, least_wage=Decimal(9))
    m.singles(12)
    states = {
        "good": ("complete", "approved", "2.00", 600, 2),
        "slow": ("complete", "approved", "2.00", 1200, 2),
        "idle": ("left", "approved", "2.00", 0, 0),
        "half": ("short", "waiting", "0", 300, 1),
        "lost": ("complete", "rejected", "0", 500, 2),
        "gone": ("left", "waiting", "0", 100, 1),
    }
    people = {}
    for n, (name, (state, verdict, paid, seconds, count)) in enumerate(states.items(), start=1):
        part = m.working(made, n)
        for _n in range(count):
            m.give(part.person)
        people[name] = _set(part, state=state, verdict=verdict, paid=Decimal(paid), seconds=seconds)
    return made, people


def test_ledger_computes_hourly_pay_and_notes_mismatches(db):
    made, people = _study()
    book = compute_ledger(made)
    told = {entry.name: entry for entry in book.entries}
    by = {name: told[get_pseudonym(part.person)] for name, part in people.items()}
    assert (by["good"].wage, by["slow"].wage, by["idle"].wage) == (12, 6, None)
    assert {name: set(entry.notes) for name, entry in by.items()} == {
        "good": set(),
        "slow": {"below the minimum hourly pay"},
        "idle": {"paid although no work was done"},
        "half": {"pay is due"},
        "lost": {"worked, but was not paid"},
        "gone": {"left the study, without pay"},
    }
    assert (book.total, book.due, book.median_wage) == (Decimal(6), Decimal(1), Decimal(9))
    assert book.warnings == []
    _set(people["good"], seconds=7200)
    slower = compute_ledger(made)
    assert "the minimum is 9.00 GBP" in slower.warnings[0]


def test_work_time_cuts_long_gaps(db):
    """A gap counts for at most 300 s."""
    made, _ = m.study(3)
    m.singles(2)
    part = m.working(made)
    began = part.began
    for n in (1, 2):
        slot = m.give(part.person)
        Slot.objects.filter(pk=slot.pk).update(
            taken_at=began + timedelta(minutes=20 * n),
            answered_at=began + timedelta(minutes=20 * n, seconds=30),
        )
    assert count_work_seconds(part) == 2 * (300 + 30)


def _write_bonuses(made: Any, path: Path) -> Path:
    """Write the file of the payments that are due; return its path."""
    with path.open("w") as file:
        csv.writer(file).writerows(iter_payments(compute_ledger(made)))
    return path


def _record(made: Any, path: Path) -> int:
    return record_bonuses(made, read_bonuses(made, path))


def test_bonuses_are_downloaded_paid_and_uploaded(db, adam, visit, send, done):
    """Only the file of bonuses contains market ids."""
    made, _people = _study()
    assert "bonuses.csv" in visit(adam).get(f"/study/ledger/{made.name}/").text
    raw = visit(adam).get(f"/study/ledger/{made.name}/bonuses.csv").getvalue()
    ((worker, amount, currency, _key),) = csv.reader(raw.decode("utf-8-sig").splitlines())
    assert (worker, amount, currency) == (m.worker(4), "1.00", "GBP")
    path = f"/admin/studies/{made.name}/"
    form = {"do": "bonuses", "bonuses-file": SimpleUploadedFile("bonuses.csv", raw)}
    job = job_of(send(path, **form))
    assert (job.came, compute_ledger(made).due) == ({"payments": 1, "total": "1.00"}, Decimal(1))
    assert done(job).came["new"] == 1
    assert m.worker(4) not in send(f"/admin/jobs/{job.mark}/", method="get").text
    book = compute_ledger(made)
    assert (book.due, book.total) == (0, Decimal(7))
    assert "bonuses.csv" not in visit(adam).get(f"/study/ledger/{made.name}/").text
    form["bonuses-file"] = SimpleUploadedFile("bonuses.csv", raw)
    assert done(job_of(send(path, **form))).came["new"] == 0
    form["bonuses-file"] = SimpleUploadedFile("bonuses.csv", raw.replace(b"GBP", b"EUR"))
    assert "bonuses.csv:1: the currency is" in send(path, **form).text


def test_a_reward_for_part_of_the_work_is_not_paid_twice(db):
    """The market pays the short code; only what is missing to the work done is due after it."""
    made, _ = m.study(4, short_code="PART1", short_reward=Decimal("0.75"))
    m.singles(2)
    part = m.working(made)
    for _n in range(2):
        m.give(part.person)
    _set(part, state="short")
    assert compute_ledger(made).due == 0
    _set(part, verdict="approved", paid=Decimal("0.75"))
    assert compute_ledger(made).due == Decimal("0.25")


def test_repeated_and_overlapping_bonus_files_count_once(db, tmp_path):
    """Amounts that become due later are separate payments."""
    made, people = _study()
    first = _write_bonuses(made, tmp_path / "1.csv")
    assert _write_bonuses(made, tmp_path / "again.csv").read_text() == first.read_text()
    _record(made, first)
    assert not _write_bonuses(made, tmp_path / "none.csv").read_text()
    _set(people["half"], state="complete", verdict="approved")
    _set(people["good"], paid=0)
    second = _write_bonuses(made, tmp_path / "2.csv")
    assert [row[:2] for row in csv.reader(second.read_text().splitlines())] == [
        [m.worker(1), "2.00"],
        [m.worker(4), "1.00"],  # the same amount as before, but a separate payment
    ]
    both = tmp_path / "both.csv"
    both.write_text(first.read_text() + second.read_text().splitlines()[0] + "\n")
    assert [_record(made, file) for file in (first, both, second, both)] == [0, 1, 1, 0]
    book = compute_ledger(made)
    parts = [entry.part for entry in book.entries]
    bonuses = {part.pk: part.total_bonus for part in parts if part.total_bonus}
    assert bonuses == dict.fromkeys((people["good"].pk, people["half"].pk), Decimal(2))
    assert (book.due, book.total) == (0, Decimal(8))


def test_known_payment_id_with_another_amount_is_refused(db, tmp_path):
    """Nothing of that file is stored."""
    made, people = _study()
    first = _write_bonuses(made, tmp_path / "1.csv")
    _set(people["half"], state="complete", verdict="approved")
    _set(people["good"], paid=0)
    second = _write_bonuses(made, tmp_path / "2.csv")
    _record(made, first)
    with pytest.raises(InputError, match=r"2\.csv:2: .* has the payment .* of 1\.00 GBP, but this"):
        _record(made, second)
    assert compute_ledger(made).total == Decimal(5)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{worker}", "a line must have a market id"),
        ("{worker},1", "a line must have a market id"),
        ("x,1,GBP,p1", "nobody with this id took part"),
        ("{worker},much,GBP,p1", "is not an amount of money"),
        ("{worker},-1,GBP,p1", "is not an amount of money"),
        ("{worker},NaN,GBP,p1", "is not an amount of money"),
        ("{worker},0.005,GBP,p1", "is not an amount of money"),
        ("{worker},1e2,GBP,p1", "is not an amount of money"),
        ("{worker},0,GBP,p1", "the amount is 0"),
        ("{worker},1,EUR,p1", "the currency is 'EUR', but the study pays in GBP"),
        ("{worker},1 EUR,GBP,p1", "a currency other than GBP"),
        ("{worker},1,,p1", "the currency is ''"),
        ("{worker},1,GBP,", "is not a payment id"),
        ("{worker},2,GBP,p1\n{worker},2,GBP,p1", "contains the payment p1 twice"),
    ],
)
def test_invalid_line_of_a_bonus_file_is_refused(db, tmp_path, line, said):
    """Nothing of that file is stored."""
    made, _people = _study()
    file = tmp_path / "bonus.csv"
    file.write_text(f"{m.worker(2)},1.50,GBP,p0\n" + line.format(worker=m.worker(4)))
    with pytest.raises(InputError, match=rf"bonus\.csv:[23]: .*{said}"):
        _record(made, file)
    assert not Payment.objects.exists()


def test_payment_to_an_erased_worker_is_recorded(db, tmp_path):
    """Workers may be erased after the file was written."""
    made, people = _study()
    file = _write_bonuses(made, tmp_path / "1.csv")
    erase(people["half"].person, texts=False)
    notes = {note for entry in compute_ledger(made).entries for note in entry.notes}
    assert "pay is due, but the id on the market was deleted" in notes
    assert _record(made, file) == 1
    assert Participation.objects.get(pk=people["half"].pk).total_bonus == Decimal("1.00")


@BOTH
@pytest.mark.long
def test_simultaneous_imports_of_a_bonus_file_count_once(database, tmp_path):
    made, _people = _study()
    file = _write_bonuses(made, tmp_path / "1.csv")
    assert sorted(at_once(lambda _: _record(made, file), range(8))) == [0] * 7 + [1]
    assert compute_ledger(made).due == 0


def test_payment_far_above_the_reward_is_not_recorded(db, tmp_path):
    """The market's amount may be in cents, also for a person who never started."""
    made, _ = m.study(1, provider="generic")
    m.working(made)
    file = tmp_path / "x.csv"
    rows = "".join(f"{m.worker(n)},approved,250\n" for n in (1, 2))
    file.write_text(f"worker,status,paid\n{rows}")
    what = "paid is 250.00, far above the reward of 2.00 GBP"
    found = reconcile(made, file)
    assert [(line, what in doubt) for line, doubt in found.doubts] == [(2, True), (3, True)]
    assert compute_ledger(made).total == 0


def test_ledger_page_and_csv_contain_no_market_ids(db, adam, visit):
    made, people = _study()
    _set(people["good"], said="=cmd()")
    admin = visit(adam)
    page = admin.get(f"/study/ledger/{made.name}/").content.decode()
    table = admin.get(f"/study/ledger/{made.name}/ledger.csv")
    assert "attachment" in table["Content-Disposition"]
    text = table.getvalue().decode("utf-8-sig")
    rows = list(csv.DictReader(text.splitlines()))
    assert [row["wage_per_hour"] for row in rows][:3] == ["12.00", "6.00", ""]
    assert rows[0]["worker"] in page
    assert "paid although no work was done" in page
    for n in range(1, 7):
        assert m.worker(n) not in page + text
    assert admin.get("/study/ledger/nothing/").status_code == 404


def test_erasing_a_worker_deletes_the_market_ids(db, visit, tmp_path):
    """Workers have no password, so none is required. Unconfirmed votes free their slots."""
    made, _ = m.study(2)
    part, half = m.judged(made)
    assert visit(part.person).post("/people/erase/", {"sure": "on"}).status_code == 200
    assert fresh(part).person.erased
    assert part.state == "left"
    assert not part.browser
    assert not Identity.objects.exists()
    assert Slot.objects.filter(problem=half, open=True).count() == 1
    found = reconcile(made, m.export(tmp_path / "x.csv", [(1, "APPROVED")]))
    assert found.unknown == [2]


def test_old_market_ids_are_deleted_after_the_settlement(db):
    """Digests are kept."""
    made, _ = m.study(1)
    settled, waits = m.working(made, 1), m.working(made, 2)
    for part, verdict in ((settled, "approved"), (waits, "waiting")):
        _set(part, state="left", verdict=verdict, ended=timezone.now())
    assert delete_old_rows()["market"] == 0
    assert delete_old_rows(timezone.now() + timedelta(days=91))["market"] == 2
    assert not Identity.objects.filter(participation=settled).exclude(sealed="").exists()
    assert Identity.objects.filter(participation=waits).exclude(sealed="").count() == 2
    assert Identity.objects.exclude(digest="").count() == 4


def test_pay_of_a_job_on_hold_waits_for_a_moderator(db, rules, eva):
    rules(hold_pace_seconds=3)
    made, _ = m.study(3)
    m.singles(3)
    part = m.working(made)
    for _n in range(3):
        m.give(part.person)
    finish_participation(part)
    Participation.objects.filter(pk=part.pk).update(verdict="approved")
    (entry,) = compute_ledger(made).entries
    assert (entry.due, list(iter_payments(compute_ledger(made)))) == (Decimal(0), [])
    assert str(compute_ledger(made).due) == "0.00"  # as other sums are shown
    assert entry.pace.answer_count == 3
    assert any("moderator" in note for note in entry.notes)
    resume_judge(part.person, eva)
    (entry,) = compute_ledger(made).entries
    assert entry.due == made.reward


def test_ledger_and_export_note_work_that_was_only_training(db, rules, tmp_path):
    rules(training_questions=1, training_right=1, hold_pace_seconds=0, hold_gold_percent=0)
    gold(4)
    made, _ = m.study(3)
    failing, passing = m.working(made, 1), m.working(made, 2)
    for _n in range(3):
        m.give(failing.person, choice=1)
    finish_participation(failing)
    m.give(passing.person)
    notes = [entry.notes for entry in compute_ledger(made).entries]
    told = "the training was not passed: none of the 3 answers counts as a vote"
    assert [told in note for note in notes] == [True, False]
    file = m.export(tmp_path / "x.csv", [(1, "APPROVED"), (2, "APPROVED")])
    assert [note for _line, note in reconcile(made, file, apply=False).notes].count(told) == 1


def test_gold_answers_among_votes_are_not_noted_as_training(db, rules):
    """Even if the site requires a training by now."""
    off = {"gold_every": 1, "hold_pace_seconds": 0, "hold_gold_percent": 0}
    rules(training_questions=0, training_right=0, **off)
    gold(2)
    made, _ = m.study(8)
    part = m.working(made)
    assert [m.give(part.person).gold for _n in range(2)] == [True, True]
    assert compute_ledger(made).entries[0].notes == ()
    m.twin(halves=1)
    assert not m.give(part.person).gold
    rules(training_questions=1, training_right=1, **off)
    assert compute_ledger(made).entries[0].notes == ()
