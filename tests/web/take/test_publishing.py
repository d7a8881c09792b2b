"""The end of a round: results, published problems, and deleted data."""

import json
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from tests.web.making import fresh
from tests.web.take.conftest import asked, closed, fill, twins
from winosmith import formats, humans
from winosmith.errors import InputError
from winosmith.humans import CANARY
from winosmith.validate import read_votes
from winosmith.web import exporting
from winosmith.web.judge.submissions import withdraw_twin
from winosmith.web.people.privacy import delete_old_rows, erase, export_personal_data
from winosmith.web.problems.models import Problem, Twin
from winosmith.web.problems.records import as_problem
from winosmith.web.problems.states import get_public_problems
from winosmith.web.take.models import Sitting, Subject
from winosmith.web.take.rounds import close_round, publish_round
from winosmith.web.take.sheets import (
    SheetClosedError,
    add_note,
    assign_sheet,
    read_sheet,
    store_answer,
)

pytestmark = pytest.mark.usefixtures("db")


def test_round_with_sheets_in_progress_closes_only_with_drop(opened, person, ann, bob):
    made = opened()
    fill(ann, assign_sheet(ann, made))
    out = assign_sheet(bob, made)
    with pytest.raises(InputError, match="1 sheet is still in progress"):
        close_round(made.name)
    assert closed(made, drop=True).figures["subjects"] == 1
    with pytest.raises(SheetClosedError):
        store_answer(bob, out.ref, 1, "A", 1.0)
    with pytest.raises(InputError, match="closed"):
        assign_sheet(person("eve"), made)


def test_publishing_releases_asked_problems_and_their_halves(opened, ann):
    """Other problems stay hidden."""
    data = twins(4, singles=11)
    made = opened(data)
    sitting = assign_sheet(ann, made)
    fill(ann, sitting)
    with pytest.raises(InputError, match="open; close it first"):
        publish_round(made.name)
    closed(made)
    done = publish_round(made.name)
    on_it = asked(sitting)
    expected = {
        d.id for d in data if d.id in on_it or (d.twin_id and sitting.sheet.test != "common")
    }
    assert {p.ref for p in get_public_problems().filter(ref__in=data.ids)} == expected
    assert (done["used"], done["used"] + done["alternates"]) == (len(on_it), len(expected))
    rows = [as_problem(row) for row in Problem.objects.filter(ref__in=data.ids)]
    assert {row.extra[CANARY] for row in rows} == {done["canary"]}
    with pytest.raises(InputError, match="was already published"):
        publish_round(made.name)


def test_what_was_withdrawn_meanwhile_is_not_released(opened, ann, bob):
    """A twin that its writer withdrew during the test stays out, and is blanked with its writer."""
    data = twins(2, singles=11)
    made = opened(data)
    row = Twin.objects.get(ref=data[0].twin_id)
    Twin.objects.filter(pk=row.pk).update(contributor=bob)
    sitting = assign_sheet(ann, made)
    fill(ann, sitting)
    withdraw_twin(bob, fresh(row))
    closed(made)
    done = publish_round(made.name)
    assert done["used"] + done["alternates"] == get_public_problems().count() > 0
    erase(bob, True)
    texts = Problem.objects.filter(twin=row).values_list("sentence", "released")
    assert set(texts) == {("_", False)}


def test_problems_of_another_open_round_are_not_published(opened, ann):
    data = twins(4)
    first, second = opened(data), opened(data, seed=1)
    fill(ann, assign_sheet(ann, first))
    closed(first)
    with pytest.raises(InputError, match=second.name):
        publish_round(first.name)


def test_results_equal_those_of_the_same_html_forms(opened, person, tmp_path):
    made = opened(twins(6, singles=11), orders=2)
    by_hand: list[tuple[Any, dict[int, str]]] = []
    for number in range(8):
        who = person(f"s{number}")
        sitting = assign_sheet(who, made, native=(True, False, None)[number % 3])
        by_hand.append((sitting, fill(who, sitting, seed=number)))
    counts = exporting.export(tmp_path / "open").counts
    out = tmp_path / "open/private/tests" / made.name
    data = formats.read(out / "private/schemas.jsonl")
    subjects = humans.read_subjects(out / "subjects.jsonl")
    found = humans.compute_results(data, read_votes(out / "responses.jsonl"), subjects)
    assert counts[f"private/tests/{made.name}"] == sum(len(given) for _, given in by_hand)
    assert closed(made).figures == json.loads(json.dumps(found.record()))

    sheets = {s.code: s for s in map(humans.read_sheet, (out / "sheets").glob("*.json"))}
    sittings = []
    for sitting, given in by_hand:  # as `templates/form.js` saves them
        native = {True: "yes", False: "no", None: ""}[sitting.subject.native]
        seconds = {row.number: round(row.seconds, 1) for row in sitting.answers.all()}
        record = {
            "winosmith": "answers", "version": 1, "sheet": sitting.sheet.code,
            "subject": sitting.subject.code, "started": "2026-11-21T10:00:00.000Z",
            "ended": "2026-11-21T10:20:00.000Z", "seconds": round(sum(seconds.values()), 1),
            "answers": {
                str(item.number): {"letter": given.get(item.number),
                                   "seconds": seconds.get(item.number, 0)}
                for item in sheets[sitting.sheet.code].items
            },
            "recognised": [], "words": [], "attributes": {"native": native} if native else {},
        }  # fmt: skip
        path = tmp_path / f"{sitting.subject.code}.json"
        path.write_text(json.dumps(record), "utf-8")
        sittings.append(humans.read_answer_form(path, sheets))
    again = humans.compute_results(
        data, humans.make_responses(sittings), humans.make_subjects(sittings)
    )
    assert again.record() == found.record()
    ledger = humans.read_ledger(out / "ledger.json")
    assert Counter(given.state for given in ledger.assignments) == {"done": 8}

    whole = exporting.export(tmp_path / "all")
    told = json.loads((tmp_path / "all/private/rounds.jsonl").read_text().splitlines()[-1])
    assert (told["round"], told["data"], told["state"]) == (made.name, made.data, "closed")
    assert exporting.export(tmp_path / "again").digest == whole.digest
    exporting.export(tmp_path / "public", public=True)
    assert not (tmp_path / "public/private").exists()


def test_erased_person_leaves_anonymous_answers(opened, ann, bob):
    """Letters stay, and whether English is the first language; words and times are deleted."""
    made = opened()
    for who in (ann, bob):
        sitting = assign_sheet(who, made, native=True)
        add_note(who, sitting.ref, "recognised", "2", "my own novel")
        fill(who, sitting)
    closed(made)
    erase(ann, texts=True)
    subject = Subject.objects.get(round=fresh(made), person=None)
    assert subject.native is True
    sitting = Sitting.objects.get(subject=subject)
    assert (sitting.state, sitting.given, sitting.remarks.count()) == ("done", None, 0)
    assert set(sitting.answers.values_list("seconds", flat=True)) == {None}
    assert sitting.answers.exclude(letter="").count() == 5
    assert len(made.figures["recognised"]) == len(made.figures["pace"]) == 1
    assert made.figures["subjects"] == 2


def test_erased_text_is_removed_from_sheets_and_results(opened, person, ann, tmp_path):
    """The results can still be computed."""
    data, eve = twins(4), person("eve")
    made = opened(data)
    Twin.objects.filter(ref=data[0].twin_id).update(contributor=eve)
    fill(ann, assign_sheet(ann, made))
    erase(eve, texts=True)
    words = data[0].sentence.split("_")[0]
    for sheet in made.sheets.all():
        assert words not in json.dumps(sheet.record)
        assert read_sheet(sheet).code == sheet.code
    exporting.export(tmp_path / "out")
    out = tmp_path / "out/private/tests" / made.name
    left = formats.read(out / "private/schemas.jsonl")
    assert len(left) == 6
    found = humans.compute_results(
        left,
        read_votes(out / "responses.jsonl"),
        humans.read_subjects(out / "subjects.jsonl"),
    )
    assert found.answers == 3


def test_times_are_deleted_after_the_retention_period(opened, ann):
    made = opened()
    sitting = assign_sheet(ann, made)
    fill(ann, sitting)
    closed(made)
    assert delete_old_rows()["take"] == 0
    assert delete_old_rows(timezone.now() + timedelta(days=91))["take"] == 5
    assert (fresh(sitting).given, sitting.ended, fresh(made).figures["pace"]) == (None, None, [])
    assert set(sitting.answers.values_list("seconds", flat=True)) == {None}
    assert sitting.answers.exclude(letter="").count() == 5


def test_personal_data_contain_the_answers_but_no_ids(opened, ann):
    data = twins(4)
    sitting = assign_sheet(ann, opened(data), native=True)
    given = fill(ann, sitting)
    told = export_personal_data(ann)["tests"]
    assert [(a["question"], a["letter"]) for a in told[0]["answers"]] == sorted(given.items())
    assert told[0]["native"] is True
    assert not any(ref in json.dumps(told, default=str) for ref in data.ids)
