"""Rounds of human tests: opening, assigning sheets, answering, and sheets on hold."""

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest

from tests.web.making import fresh, single
from tests.web.take.conftest import asked, closed, fill, twins
from tests.web.working import work_off
from winosmith.errors import InputError
from winosmith.web import importing
from winosmith.web.judge.turns import (
    get_current_slot,
    lease_next_problem,
    store_answer as store_vote,
    store_local_answer,
)
from winosmith.web.people.models import Person, get_pseudonym
from winosmith.web.problems.models import Event, Problem, Twin, Version
from winosmith.web.problems.states import get_public_problems
from winosmith.web.take import rounds
from winosmith.web.take.models import Round
from winosmith.web.take.sheets import (
    SheetClosedError,
    assign_sheet,
    find_known_problems,
    give_up_sheet,
    store_answer,
    submit_sheet,
)

pytestmark = pytest.mark.usefixtures("db")


def test_new_problems_of_a_round_are_embargoed(opened):
    """The halves of a twin are on different sheets."""
    data = twins(6, singles=12)
    made = opened(data, orders=2)
    rows = Problem.objects.filter(ref__in=data.ids)
    assert {(row.state, row.embargo, row.gold) for row in rows} == {("valid", True, False)}
    assert not get_public_problems().filter(ref__in=data.ids).exists()
    sheets = {
        (s.test, s.order): {i["problem"] for i in s.record["items"]} for s in made.sheets.all()
    }
    assert sorted(sheets) == [(t, o) for t in ("a", "b", "common") for o in (1, 2)]
    assert not sheets["a", 1] & sheets["b", 1]
    assert sheets["a", 1] | sheets["b", 1] | sheets["common", 1] == set(data.ids)


def test_problems_in_judging_are_embargoed_with_an_event(opened):
    data = twins(4)
    importing.import_problems(data, "judging")
    opened(data)
    rows = Problem.objects.filter(ref__in=data.ids)
    assert {(row.state, row.embargo) for row in rows} == {("judging", True)}
    assert Event.objects.filter(problem__in=rows, kind="embargo").count() == len(data)


@pytest.mark.parametrize("state", ["withdrawn", "rejected", "held", "valid"])
def test_only_judged_and_valid_problems_are_accepted_and_public_ones_on_request(opened, state):
    data = twins(4)
    importing.import_problems(data, "judging")
    wrong = data.ids if state == "valid" else data.ids[1:2]
    Problem.objects.filter(ref__in=wrong).update(state=state)
    why = "public on this site" if state == "valid" else data.ids[1]
    with pytest.raises(InputError, match=why):
        opened(data)
    assert not Round.objects.exists()
    if state == "valid":
        opened(data, public=True)
        assert not Problem.objects.filter(ref__in=data.ids, embargo=True).exists()


def test_taken_or_invalid_round_name_is_refused(opened):
    opened(name="spring")
    for name in ("spring", "a b", "", "x/y"):
        with pytest.raises(InputError):
            opened(name=name)


def test_sheets_are_balanced_and_nobody_gets_both_halves(opened, person):
    made = opened(twins(6, singles=12), orders=2)
    given: Counter[str] = Counter()
    for number in range(12):
        who, seen = person(f"s{number}"), []
        for _ in range(2):
            sitting = assign_sheet(who, made)
            given[sitting.sheet.test] += 1
            given[f"{sitting.sheet.test}{sitting.sheet.order}"] += 1
            if sitting.sheet.test != "common":
                seen += {problem.rpartition("-")[0] for problem in asked(sitting)}
            fill(who, sitting, seed=number)
        with pytest.raises(InputError, match="already taken part of it"):
            assign_sheet(who, made)
        assert len(seen) == len(set(seen)) == 6
    assert given == {"a": 6, "a1": 3, "a2": 3, "b": 6, "b1": 3, "b2": 3,
                     "common": 12, "common1": 6, "common2": 6}  # fmt: skip


def test_second_window_gets_the_same_sheet(opened, ann):
    first, other = opened(), opened(twins(5, start=30))
    sitting = assign_sheet(ann, first)
    assert assign_sheet(ann, first) == sitting
    with pytest.raises(InputError, match="finish or leave it first"):
        assign_sheet(ann, other)


def test_nobody_is_tested_on_what_they_judged_or_wrote(opened, person, bob):
    data = twins(4, singles=11)
    importing.import_problems(data[:8], "judging")
    eve, fay = person("eve"), person("fay")
    slot = lease_next_problem(bob)
    store_local_answer(bob, slot.ref, 0)
    store_vote(bob, slot.ref, 0)
    Twin.objects.filter(ref=data[0].twin_id).update(contributor=eve)
    made = opened(data)
    for who in (bob, eve):
        assert assign_sheet(who, made).sheet.test == "common"
    assert assign_sheet(fay, made).sheet.test in ("a", "b", "common")


@pytest.mark.parametrize("page", ["/moderate/problems/", "/problems/", "/families/"])
def test_moderator_is_not_tested_on_answers_that_they_read(opened, person, visit, page):
    data = twins(4, singles=11)
    made = opened(data)
    moderator = person("moderator", is_moderator=True)
    assert visit(moderator).get(f"{page}{data.ids[0]}/").status_code == 200
    assert find_known_problems(moderator, made) == set(data.ids[:2])
    assert assign_sheet(moderator, made).sheet.test == "common"


def test_family_of_ones_own_version_counts_as_known(opened, ann):
    data = twins(4, singles=11)
    made = opened(data)
    root = Problem.objects.get(ref=data.ids[0])
    child = single("child", by=ann, embargo=True)
    Version.objects.create(problem=root, root=root, digest="1")
    Version.objects.create(problem=child, root=root, parent=root, step=1, digest="2")
    assert find_known_problems(ann, made) == set(data.ids[:2])
    assert assign_sheet(ann, made).sheet.test == "common"


@pytest.mark.parametrize("both_halves", [False, True])
def test_subjects_judge_no_half_of_the_twins_on_their_sheet(opened, ann, bob, rules, both_halves):
    """A sheet counts as read as soon as it is assigned."""
    rules(both_halves=both_halves)
    data = twins(4)
    importing.import_problems(data, "judging")
    made = opened(data)
    sitting = assign_sheet(ann, made)
    give_up_sheet(ann, sitting.ref)
    assert lease_next_problem(ann) is None
    assert lease_next_problem(bob) is not None


def test_judging_is_paused_during_a_test(opened, ann):
    """Starting a test returns the problem that the judge had leased."""
    importing.import_problems(twins(3, start=40), "judging")
    made = opened()
    assert lease_next_problem(ann) is not None
    sitting = assign_sheet(ann, made)
    assert get_current_slot(ann) is None
    assert lease_next_problem(ann) is None
    submit_sheet(ann, sitting.ref)
    assert lease_next_problem(ann) is not None


def test_only_active_accounts_can_take_tests(opened, person):
    made = opened()
    for who in (Person.objects.create_anonymous(), person("ann", is_active=False)):
        with pytest.raises(InputError, match="account"):
            assign_sheet(who, made)


def test_answers_can_be_changed_until_submission(opened, person, ann):
    """The last letter counts, and seconds add up."""
    eve, made = person("eve"), opened()
    sitting = assign_sheet(ann, made)
    store_answer(ann, sitting.ref, 1, "a", 2.5, to=2)
    store_answer(ann, sitting.ref, 1, "", 1.0, to=2)
    assert store_answer(ann, sitting.ref, 1, "X", 1.0, to=2).at == 2
    with pytest.raises(InputError, match="'E' is not an answer"):
        store_answer(ann, sitting.ref, 1, "E", 1.0)
    with pytest.raises(InputError, match="questions 1 to 6, not 7"):
        store_answer(ann, sitting.ref, 7, "A", 1.0)
    with pytest.raises(SheetClosedError):
        store_answer(eve, sitting.ref, 1, "B", 1.0)
    row = sitting.answers.get()
    assert (row.letter, row.seconds) == ("X", 4.5)
    submit_sheet(ann, sitting.ref)
    with pytest.raises(SheetClosedError):
        store_answer(ann, sitting.ref, 1, "A", 1.0)


def test_subject_codes_reveal_no_name_and_differ_by_round(opened, ann):
    codes = set()
    for made in (opened(), opened(twins(5, start=30))):
        sitting = assign_sheet(ann, made)
        submit_sheet(ann, sitting.ref)
        codes.add(sitting.subject.code)
    assert len(codes) == 2
    assert not any("ann" in code or get_pseudonym(ann)[2:8] in code for code in codes)


def test_too_fast_sheet_counts_after_another_moderators_approval(rules, opened, person, visit):
    made = opened(twins(8))
    rules(hold_pace_seconds=3)
    ann = person("ann", is_moderator=True)
    sitting = assign_sheet(ann, made)
    fill(ann, sitting)
    assert fresh(sitting).held
    assert closed(made).figures is None
    eva = visit(person("eva", is_moderator=True))
    path = f"/tests/progress/{made.name}/"
    assert "1 sheet is on hold" in eva.get(path).content.decode()
    shown = visit(ann).get(path).content.decode()
    assert ("Approve" in shown, "Another moderator" in shown) == (False, True)
    own = visit(ann).post(f"{path}count/", {"sheet": sitting.ref})
    refused = "<p>Another moderator must check your own sheet.</p>" in own.content.decode()
    assert (own.status_code, refused) == (409, True)
    sent = eva.post(f"{path}count/", {"sheet": sitting.ref})
    assert sent.headers["Location"] == path
    work_off()
    assert fresh(made).figures["answers"] == 8
    assert eva.post(f"{path}count/", {"sheet": sitting.ref}).status_code == 409


def test_sheet_approved_during_the_computation_counts(rules, opened, person, eva, monkeypatch):
    """So does a sheet approved between closing and the computation."""
    open_ = opened(twins(8))
    rules(hold_pace_seconds=3)
    sheets = [assign_sheet(person(name), open_) for name in ("ann", "bob")]
    for sheet in sheets:
        fill(sheet.subject.person, sheet)
    real = rounds.compute_results
    closed(open_)
    rounds.approve_sheet(open_, sheets[0].ref, eva)
    work_off()
    assert fresh(open_).figures["answers"] == 8

    def figures_of(round_: Any, sittings: Any) -> Any:
        found = real(round_, sittings)
        with monkeypatch.context() as patch:
            patch.setattr(rounds, "compute_results", real)
            if rounds.Sitting.objects.filter(held=True).exists():
                rounds.approve_sheet(open_, sheets[1].ref, eva)
        return found

    monkeypatch.setattr(rounds, "compute_results", figures_of)
    rounds.store_results(open_)
    assert fresh(open_).figures["answers"] == 16


def test_slowly_completed_sheet_is_not_held(rules, opened, ann):
    """The server's clock measures the pace."""
    made = opened(twins(8))
    rules(hold_pace_seconds=3)
    sitting = assign_sheet(ann, made)
    fill(sitting.subject.person, sitting, finish=False)
    for row in sitting.answers.all():
        row.at = sitting.given + timedelta(seconds=9 * row.number)
        row.save(update_fields=["at"])
    ended = submit_sheet(sitting.subject.person, sitting.ref)
    assert (ended.held, ended.pace) == (False, 9.0)
