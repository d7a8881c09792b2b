"""Appeals, and how moderators' decisions answer them."""

from typing import Any

import pytest

from tests.web.together import at_once
from winosmith.errors import InputError
from winosmith.web.moderate.decisions import appeal, get_open_appeal
from winosmith.web.moderate.models import Appeal
from winosmith.web.problems.states import move


def test_second_appeal_is_refused_until_the_first_is_declined(
    db: Any, ann: Any, eva: Any, twin: Any, do: Any
) -> None:
    half = twin(ann, state="rejected")[0]
    appeal(ann, half, "It is about weight.")
    with pytest.raises(InputError, match="already"):
        appeal(ann, half, "Again.")
    do(eva, "decline", half, reason="the votes hold")
    assert get_open_appeal(half) is None
    assert list(half.events.order_by("pk").values_list("kind", "reason")) == [
        ("appeal", "It is about weight."),
        ("decline", "the votes hold"),
    ]
    appeal(ann, half, "Once more.")


@pytest.mark.parametrize("action", ["accept", "reopen"])
def test_appeal_is_offered_as_reason_only_if_all_have_one(
    db: Any, ann: Any, eva: Any, twin: Any, visit: Any, action: str
) -> None:
    halves = twin(ann, state="rejected")
    appeal(ann, halves[0], "It is about weight.")
    browser, picks = visit(eva), [f"{half.ref}:0" for half in halves]
    asked = [
        browser.get("/moderate/ask/", {"action": action, "pick": pick}).content.decode()
        for pick in (picks[0], picks[1], picks)
    ]
    assert ["The appeal convinced us" in page for page in asked] == [True, False, False]


@pytest.mark.parametrize("action", ["accept", "reopen"])
def test_granting_an_appeal_closes_it(
    db: Any, ann: Any, eva: Any, twin: Any, do: Any, action: str
) -> None:
    half = twin(ann, state="rejected")[0]
    made = appeal(ann, half, "Look again.")
    do(eva, action, half)
    made.refresh_from_db()
    assert get_open_appeal(half) is None
    assert made.answer.kind == action


def test_only_contributors_can_appeal_decisions_of_others(
    db: Any, bob: Any, ann: Any, twin: Any
) -> None:
    """The text must have 1 to 2000 characters."""
    rejected, own = twin(ann, state="rejected")
    move(own, "withdrawn", actor=ann, kind="withdraw")
    for who, half in ((bob, rejected), (ann, own), (ann, twin(ann)[0])):
        with pytest.raises(InputError, match="no decision to appeal"):
            appeal(who, half, "Look again.")
    for text in ("", "  ", "x" * 2001):
        with pytest.raises(InputError, match="characters"):
            appeal(ann, rejected, text)


def test_simultaneous_appeals_are_stored_once(database: Any, ann: Any, twin: Any) -> None:
    half = twin(ann, state="rejected")[0]
    found = at_once(lambda _: appeal(ann, half, "Look again."), range(8), but=InputError)
    assert sum(isinstance(one, InputError) for one in found) == 7
    assert Appeal.objects.count() == half.events.count() == 1
