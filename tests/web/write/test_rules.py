"""Rules for drafts, and for submitting, revising and withdrawing twins."""

import pytest

from tests.web.making import fresh
from tests.web.together import at_once
from tests.web.write.conftest import ANCHORS, FORM, draft, submitted, typed
from winosmith.errors import InputError
from winosmith.web.judge.models import Slot
from winosmith.web.judge.submissions import may_revise, may_withdraw, withdraw_twin
from winosmith.web.judge.turns import lease_next_problem
from winosmith.web.moderate.decisions import ACTIONS, decide, get_possible_actions
from winosmith.web.people.gates import new_key
from winosmith.web.people.models import Done
from winosmith.web.problems.checks import RefusedError
from winosmith.web.problems.models import Problem, Remembered, Twin
from winosmith.web.write.rules import (
    MAX_DRAFTS,
    StaleDraftError,
    TwinInput,
    _find_faults,
    get_draft,
    list_drafts,
    open_revision,
    redraw_topic,
    save_draft,
    to_input,
)


def test_submitted_twin_goes_to_the_judges(db, ann):
    twin = submitted(ann, topic="Water a garden")
    halves = list(twin.problems.all())
    assert (twin.contributor, twin.anchor, twin.topic) == (ann, "water garden", "Water a garden")
    assert (twin.domain, twin.source, twin.licence) == ("physical", "crowd", "CC-BY-4.0")
    answers = {half.sentence: half.answer for half in halves}
    assert answers == {FORM["sentence_1"]: 0, FORM["sentence_2"]: 1}
    assert {half.state for half in halves} == {"judging"}
    assert len({twin.ref, *(half.ref for half in halves)}) == 3
    for half in halves:
        event = half.events.get()
        assert (event.kind, event.after, event.actor) == ("submit", "judging", ann)
        assert Slot.objects.filter(problem=half).count() == 3
        assert Remembered.objects.filter(problem=half).exists()


def test_order_of_the_halves_is_random(db, ann):
    first = {
        submitted(ann).problems.order_by("pk").first().sentence == FORM["sentence_1"]
        for _number in range(40)
    }
    assert first == {True, False}


def test_refused_twin_is_not_stored_and_names_the_fields(db, ann):
    """The corrected twin can be submitted with the same key."""
    key = new_key()
    with pytest.raises(RefusedError) as refused:
        submitted(ann, key, typed=typed(sentence_1="Too short, the _ is.", answer_2="0", domain=""))
    assert set(refused.value.faults) >= {"sentence_1", "answer_2", "domain"}
    assert not Twin.objects.exists()
    assert not Done.objects.exists()
    assert submitted(ann, key).problems.count() == 2


def test_empty_form_reports_only_the_first_faults(site):
    assert _find_faults(TwinInput(), ANCHORS) == {
        "domain": ["Choose whether the twin is about people or about things."],
        "option_1": ["Enter each option: the people or things that could fill the blank."],
        "sentence_1": ["Write the sentence."],
        "sentence_2": ["Write the sentence."],
    }
    assert set(_find_faults(typed(sentence_2=""), ANCHORS)) == {"sentence_2"}
    assert _find_faults(typed(answer_1=""), ANCHORS) == {
        "answer_2": ["Choose the correct option for each half."]
    }
    assert _find_faults(typed(), ANCHORS) == {}


def test_twin_without_consent_is_refused(db, person):
    with pytest.raises(InputError, match="First agree to the site’s consent forms"):
        submitted(person("bob"))
    assert not Twin.objects.exists()


@pytest.mark.parametrize(
    ("review", "anonymous", "flagged", "state"),
    [
        ("none", True, True, "judging"),
        ("flagged", False, False, "judging"),
        ("flagged", True, False, "held"),
        ("flagged", False, True, "held"),
        ("all", False, False, "held"),
    ],
)
def test_review_setting_decides_which_twins_are_held(
    db, contributor, rules, review, anonymous, flagged, state
):
    ann = contributor(anonymous=anonymous)
    rules(review=review, words_to_flag=("garden",) if flagged else ())
    twin = submitted(ann)
    assert {half.state for half in twin.problems.all()} == {state}
    assert Slot.objects.exists() == (state == "judging")
    assert all(bool(half.hints) == flagged for half in twin.problems.all())


def test_revision_replaces_the_old_halves(db, ann):
    """The old twin can't be revised again or withdrawn."""
    old = submitted(ann)
    Problem.objects.filter(twin=old).update(embargo=True)
    draft = open_revision(ann, old)
    assert open_revision(ann, old) == draft
    assert draft.revises == old
    assert set(to_input(old).sentences) == {FORM["sentence_1"], FORM["sentence_2"]}
    new = submitted(ann, draft.ref, typed=typed(option_2="bucket"), revises=old)
    assert {half.state for half in old.problems.all()} == {"revised"}
    assert {half.state for half in new.problems.all()} == {"judging"}
    assert new.revises == old
    assert all(half.embargo for half in new.problems.all())
    assert not Slot.objects.filter(problem__twin=old, open=True).exists()
    with pytest.raises(InputError, match="can’t be revised"):
        open_revision(ann, old)
    with pytest.raises(InputError, match="can’t be revised"):
        submitted(ann, revises=old)
    assert not may_withdraw(ann, old)


def test_only_the_contributor_can_revise_or_withdraw(db, contributor, ann, bob):
    twin = submitted(ann)
    for other in (bob, contributor("eva", is_moderator=True)):
        with pytest.raises(InputError):
            withdraw_twin(other, twin)
        with pytest.raises(InputError):
            open_revision(other, twin)
        with pytest.raises(InputError):
            submitted(other, revises=twin)
    assert {half.state for half in twin.problems.all()} == {"judging"}


def test_withdrawn_twin_leaves_judging(db, ann):
    twin = submitted(ann)
    withdraw_twin(ann, twin, "a slip")
    assert {half.state for half in twin.problems.all()} == {"withdrawn"}
    assert {half.events.last().reason for half in twin.problems.all()} == {"a slip"}
    assert not Slot.objects.filter(open=True).exists()
    assert not may_withdraw(ann, twin)
    assert not may_revise(ann, twin)
    with pytest.raises(InputError, match="nothing to withdraw"):
        withdraw_twin(ann, twin)


def test_judge_of_a_twin_does_not_judge_its_revisions(db, contributor, ann, bob):
    first = submitted(ann)
    slot = lease_next_problem(bob)
    assert slot is not None
    second = submitted(ann, revises=first)
    assert lease_next_problem(bob) is None
    submitted(ann, revises=second)
    assert lease_next_problem(bob) is None
    assert lease_next_problem(contributor("cat")) is not None


def test_contributor_can_withdraw_what_a_moderator_withdrew(db, ann, eva):
    """A moderator can't restore it afterwards."""
    twin = submitted(ann)
    half = twin.problems.first()
    seen = half.events.last().pk
    decide(eva, ACTIONS["withdraw"], half, reason="unkind", seen=seen, batch="b1")
    assert ACTIONS["restore"] in get_possible_actions(eva, fresh(half))
    withdraw_twin(ann, twin, "I want it gone")
    assert ACTIONS["restore"] not in get_possible_actions(eva, fresh(half))
    assert half.events.last().reason == "I want it gone"
    assert not may_withdraw(ann, twin)


def test_released_or_valid_twin_cannot_be_revised(db, ann):
    valid, released = submitted(ann), submitted(ann)
    Problem.objects.filter(twin=valid).update(state="valid")
    Problem.objects.filter(twin=released).update(released=True)
    assert not may_revise(ann, valid)
    assert not may_revise(ann, released)


def test_stale_version_never_overwrites_a_draft(database, ann):
    """Of sixteen windows that save the same version, one succeeds and the others are refused."""
    one = draft(ann)

    def write(number: int) -> str:
        try:
            return str(save_draft(one, typed(option_1=f"kettle {number}"), 0).version)
        except StaleDraftError as stale:
            return str(stale.draft.typed["option_1"])

    results = sorted(at_once(write, range(16)))
    now = get_draft(ann, one.ref)
    assert now.version == 1
    assert results == ["1", *[now.typed["option_1"]] * 15]


def test_drafts_are_private_and_limited_in_number(db, ann, bob):
    """Untouched topics are not listed as drafts."""
    one = draft(ann)
    assert get_draft(bob, one.ref) is None
    assert get_draft(None, one.ref) is None
    assert list_drafts(ann) == []
    save_draft(one, typed(), 0)
    assert list_drafts(ann) == [one]
    for _number in range(MAX_DRAFTS - 1):
        draft(ann)
    with pytest.raises(InputError, match="finish or discard"):
        draft(ann)


def test_redrawing_words_or_topic_keeps_the_text(db, ann):
    one = save_draft(draft(ann), typed(), 0)
    words = redraw_topic(one, "words")
    assert (words.topic, words.version) == ("Water a garden", 2)
    assert set(words.anchors) != {"water", "garden", "hose"}
    other = redraw_topic(words, "topic")
    assert other.topic != "Water a garden"
    assert other.typed == typed().as_form()
