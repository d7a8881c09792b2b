"""The ledger: hours and wages, who was paid for what, and what is still to be paid."""

import csv
import json
import stat
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from tests.web.conftest import BOTH
from tests.web.judge.making import gold
from tests.web.making import fresh
from tests.web.market import making as m
from tests.web.market.test_reconciling import _run
from tests.web.together import at_once
from winosmith.errors import InputError
from winosmith.web.judge.exclusion import resume_judge
from winosmith.web.judge.models import Slot
from winosmith.web.market.ledger import compute_ledger, iter_payments, record_bonuses
from winosmith.web.market.models import Identity, Participation, Payment
from winosmith.web.market.studies import create_study
from winosmith.web.market.workers import count_work_seconds, finish_participation
from winosmith.web.people.models import get_pseudonym
from winosmith.web.people.privacy import delete_old_rows, erase


def _set(part: Any, **fields: Any) -> Any:
    for name, value in fields.items():
        setattr(part, name, value)
    part.save()
    return part


def _study() -> tuple[Any, dict[str, Any]]:
    """Make a study of two problems with somebody in each state; each judged what `done` says."""
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
    for n, (name, (state, verdict, paid, seconds, done)) in enumerate(states.items(), start=1):
        part = m.working(made, n)
        for _n in range(done):
            m.give(part.person)
        people[name] = _set(part, state=state, verdict=verdict, paid=Decimal(paid), seconds=seconds)
    return made, people


def test_wages_and_what_does_not_fit(db: Any) -> None:
    """An hour's wage, its median, what is below the least, work without pay, pay without work."""
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
    assert book.warnings == ()
    _set(people["good"], seconds=7200)
    slower = compute_ledger(made)
    assert "the minimum is 9.00 GBP" in slower.warnings[0]


def test_seconds_are_measured_from_what_is_stored(db: Any) -> None:
    """From the beginning over each answer, with long gaps cut; passing on is work, too."""
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


def test_what_is_due_is_paid_by_the_markets_own_file(db: Any, tmp_path: Path) -> None:
    """The file of bonuses holds ids, for its owner alone; paid, nothing is due; names are whole."""
    made, _people = _study()
    file, table = tmp_path / "bonus.csv", tmp_path / "ledger.csv"
    told = _run("pay", made.name, "--bonuses", str(file), "--csv", str(table))
    assert [entry.name for entry in compute_ledger(made).entries if entry.name not in told] == []
    ((worker, amount, currency, key),) = csv.reader(file.read_text().splitlines())
    assert (worker, amount, currency) == (m.worker(4), "1.00", "GBP")
    assert stat.S_IMODE(file.stat().st_mode) == stat.S_IMODE(table.stat().st_mode) == 0o600
    assert m.worker(4) not in table.read_text()
    assert record_bonuses(made, file) == 1
    assert record_bonuses(made, file) == 0
    book = compute_ledger(made)
    assert (book.due, book.total) == (0, Decimal(7))
    (entry,) = json.loads(_run("pay", made.name, "--json"))["payments"]
    assert (entry["id"], entry["amount"]) == (key, "1.00")


def test_a_reward_for_part_of_the_work_is_not_paid_twice(db: Any) -> None:
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


def _bonuses(made: Any, path: Path) -> Path:
    """Write the file of what is due now."""
    _run("pay", made.name, "--bonuses", str(path))
    return path


def test_payments_add_up_over_several_files(db: Any, tmp_path: Path) -> None:
    """What becomes due later is another payment; files twice, or that overlap, count it once."""
    made, people = _study()
    first = _bonuses(made, tmp_path / "1.csv")
    assert _bonuses(made, tmp_path / "again.csv").read_text() == first.read_text()
    record_bonuses(made, first)
    assert not _bonuses(made, tmp_path / "none.csv").read_text()
    _set(people["half"], state="complete", verdict="approved")
    _set(people["good"], paid=0)
    second = _bonuses(made, tmp_path / "2.csv")
    assert [row[:2] for row in csv.reader(second.read_text().splitlines())] == [
        [m.worker(1), "2.00"],
        [m.worker(4), "1.00"],  # as before, and a payment of its own
    ]
    both = tmp_path / "both.csv"
    both.write_text(first.read_text() + second.read_text().splitlines()[0] + "\n")
    assert [record_bonuses(made, file) for file in (first, both, second, both)] == [0, 1, 1, 0]
    book = compute_ledger(made)
    assert {
        entry.part.pk: entry.part.total_bonus for entry in book.entries if entry.part.total_bonus
    } == {
        people["good"].pk: Decimal("2.00"),
        people["half"].pk: Decimal("2.00"),
    }
    assert (book.due, book.total) == (0, Decimal(8))


def test_a_payment_has_one_amount(db: Any, tmp_path: Path) -> None:
    """Two files with one id and two amounts: the second is refused with its line, all of it."""
    made, people = _study()
    first = _bonuses(made, tmp_path / "1.csv")
    _set(people["half"], state="complete", verdict="approved")
    _set(people["good"], paid=0)
    second = _bonuses(made, tmp_path / "2.csv")
    record_bonuses(made, first)
    with pytest.raises(InputError, match=r"2\.csv:2: .* has the payment .* of 1\.00 GBP, but this"):
        record_bonuses(made, second)
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
def test_a_line_that_is_no_payment_is_refused(
    db: Any, tmp_path: Path, line: str, said: str
) -> None:
    """Its place is named, and nothing of the file is entered."""
    made, _people = _study()
    file = tmp_path / "bonus.csv"
    file.write_text(f"{m.worker(2)},1.50,GBP,p0\n" + line.format(worker=m.worker(4)))
    with pytest.raises(InputError, match=rf"bonus\.csv:[23]: .*{said}"):
        record_bonuses(made, file)
    assert not Payment.objects.exists()


def test_a_payment_to_somebody_who_was_erased_meanwhile_is_entered(db: Any, tmp_path: Path) -> None:
    """Between the file and its payment a worker may erase themselves; what was paid stays."""
    made, people = _study()
    file = _bonuses(made, tmp_path / "1.csv")
    erase(people["half"].person, texts=False)
    assert record_bonuses(made, file) == 1
    assert Participation.objects.get(pk=people["half"].pk).total_bonus == Decimal("1.00")


@BOTH
@pytest.mark.long
def test_a_file_that_two_import_at_once_counts_once(database: Any, tmp_path: Path) -> None:
    """Of eight imports of one file in the same moment, one enters the payments."""
    made, _people = _study()
    file = _bonuses(made, tmp_path / "1.csv")
    assert sorted(at_once(lambda _: record_bonuses(made, file), range(8))) == [0] * 7 + [1]
    assert compute_ledger(made).due == 0


def test_a_reward_in_cents_is_doubted(db: Any, tmp_path: Path) -> None:
    """A market's sum that is far beyond the reward changes nothing, and is named by its line."""
    made, _ = m.study(1, provider="generic")
    m.working(made)
    file = tmp_path / "x.csv"
    file.write_text(f"worker,status,paid\n{m.worker(1)},approved,250\n")
    told = _run("reconcile", made.name, str(file))
    assert f"{file}:2: paid is 250.00, far above the reward of 2.00 GBP" in told
    assert compute_ledger(made).total == 0


def test_admins_see_the_ledger_by_pseudonyms(db: Any, adam: Any, visit: Any) -> None:
    """The pages and the file name no id."""
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


def test_an_erased_worker_leaves_no_id(db: Any, visit: Any, tmp_path: Path) -> None:
    """Without a password they erase themselves; ids go, open votes count never, pay stays."""
    made, _ = m.study(2)
    half = m.twin(halves=1)[0]
    part = m.working(made)
    m.give(part.person)
    assert visit(part.person).post("/people/erase/", {"sure": "on"}).status_code == 200
    assert fresh(part).person.erased
    assert part.state == "left"
    assert not part.browser
    assert not Identity.objects.exists()
    assert Slot.objects.filter(problem=half, open=True).count() == 1
    told = _run("reconcile", made.name, str(m.export(tmp_path / "x.csv", [(1, "APPROVED")])))
    assert "never started here" in told


def test_a_study_is_checked_before_it_is_made(db: Any) -> None:
    """Money, currency, codes and names that can't be right are refused, and a name is used once."""
    made, _ = m.study()

    for change, said in (
        ({"reward": Decimal("1.005")}, "two decimal places"),
        ({"reward": Decimal("-1")}, "is not an amount of money"),
        ({"currency": "pounds"}, "is not a currency"),
        ({"code": ""}, "requires a completion code; set it"),
        ({"code": "A B"}, "letters, digits"),
        ({"short_code": "DONE1"}, "must differ"),
        ({"minutes": 0}, "1 minute"),
    ):
        with pytest.raises(InputError, match=said):
            create_study("other", "prolific", "judge", 1, **{**m.USUAL, **change})
    with pytest.raises(InputError, match="already"):
        create_study(made.name, "prolific", "judge", 1, **m.USUAL)


def test_ids_are_forgotten_when_they_are_old(db: Any) -> None:
    """Settled and older than the site keeps, ids go; what waits keeps them, and digests stay."""
    made, _ = m.study(1)
    settled, waits = m.working(made, 1), m.working(made, 2)
    for part, verdict in ((settled, "approved"), (waits, "waiting")):
        _set(part, state="left", verdict=verdict, ended=timezone.now())
    assert delete_old_rows()["market"] == 0
    assert delete_old_rows(timezone.now() + timedelta(days=91))["market"] == 2
    assert not Identity.objects.filter(participation=settled).exclude(sealed="").exists()
    assert Identity.objects.filter(participation=waits).exclude(sealed="").count() == 2
    assert Identity.objects.exclude(digest="").count() == 4


def test_pay_of_a_job_that_is_held_waits_for_a_moderator(db: Any, rules: Any, eva: Any) -> None:
    """A job done in no time is noted, brings no bonus, and is due once its votes may count."""
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


def test_whoever_pays_is_told_of_work_that_was_training_alone(
    db: Any, rules: Any, tmp_path: Path
) -> None:
    """Answers of a training that was not passed are named in the ledger and beside the export."""
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
    assert _run("reconcile", made.name, str(file), "--dry-run").count(told) == 1


def test_whoever_pays_reads_of_no_training_that_was_not_asked(db: Any, rules: Any) -> None:
    """Known answers among votes are no training, whatever the site asks now, or asked never."""
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
