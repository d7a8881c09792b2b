"""The twin that the first page shows: people choose it, and the log says who."""

from typing import Any

import pytest

from tests.web.making import fresh
from winosmith.errors import InputError
from winosmith.web.moderate.batches import undo_batch
from winosmith.web.read.public import get_example_twin

pytestmark = pytest.mark.usefixtures("db")


def shown() -> set[int]:
    """Return which twin the first page shows."""
    return {half.twin_id for half in get_example_twin()}


def test_the_last_choice_is_on_the_first_page_until_it_is_taken_off(
    eva: Any, twin: Any, do: Any, visit: Any
) -> None:
    """Without a choice nothing new is there; the twin chosen last is, and before it the earlier."""
    first, second = twin(state="valid"), twin(state="valid")
    assert shown() == set()
    do(eva, "show", first[0], reason="It is short.")
    do(eva, "show", second[1])
    assert shown() == {second[0].twin_id}
    page = visit().get("/").content.decode()
    assert all(half.sentence.partition("_")[0].split()[2] in page for half in second)
    do(eva, "unshow", second[0])
    assert shown() == {first[0].twin_id}
    event = first[0].events.get()
    assert (event.actor, event.kind, event.reason) == (eva, "show", "It is short.")
    assert [e.kind for half in second for e in half.events.all()] == ["unshow", "show"]


def test_a_choice_is_taken_back(eva: Any, twin: Any, do: Any) -> None:
    """Undone, the twin is off the page; the undoing of that it was taken off brings it back."""
    halves = twin(state="valid")
    undo_batch(eva, do(eva, "show", halves[0]), "by mistake")
    assert shown() == set()
    do(eva, "show", halves[0])
    undo_batch(eva, do(eva, "unshow", halves[0]), "by mistake")
    assert shown() == {halves[0].twin_id}


def test_a_choice_shows_nothing_that_is_not_public(eva: Any, twin: Any, do: Any) -> None:
    """A half that is withdrawn, or under embargo, takes its twin off the page, whoever chose it."""
    first, second = twin(state="valid"), twin(state="valid")
    do(eva, "show", first[0])
    do(eva, "show", second[0])
    do(eva, "withdraw", second[1])
    assert shown() == {first[0].twin_id}
    do(eva, "embargo", first[1])
    assert shown() == set()


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"state": "judging"}, "is not possible in the state “is being judged”"),
        ({"state": "valid", "embargo": True}, "both halves are public"),
    ],
)
def test_only_public_twins_are_chosen(
    eva: Any, twin: Any, do: Any, fields: dict[str, Any], why: str
) -> None:
    """What judges hold, or what is kept back, is left alone, and its moderator is told why."""
    halves = twin(**fields)
    with pytest.raises(InputError, match=why):
        do(eva, "show", halves[0])
    assert not halves[0].events.exists()
    assert fresh(halves[0].twin).chosen is None
