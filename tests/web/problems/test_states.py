"""State transitions, and forms that act only once."""

from typing import Any

import pytest

from tests.web.conftest import BOTH
from tests.web.making import single
from tests.web.together import at_once
from winosmith.errors import InputError
from winosmith.web.people.gates import new_key, process_once
from winosmith.web.people.models import Person
from winosmith.web.problems.models import Event, Problem, State
from winosmith.web.problems.states import move


def test_move_is_logged_as_an_event(db: Any, person: Any) -> None:
    ann = person("ann", is_moderator=True)
    problem = single("p1", state=State.JUDGING)
    event = move(problem, State.WITHDRAWN, actor=ann, kind="withdraw", reason="a copy")
    assert (event.before, event.after, event.actor, event.reason) == (
        "judging",
        "withdrawn",
        ann,
        "a copy",
    )
    assert Problem.objects.get().state == "withdrawn"


def test_invalid_move_is_refused(db: Any) -> None:
    problem = single("p1", state=State.JUDGING)
    with pytest.raises(InputError, match="can't become 'judging'"):
        move(problem, State.JUDGING, actor=None, kind="reopen")
    assert not Event.objects.exists()


def test_form_key_is_refused_for_another_form(db: Any, ann: Any) -> None:
    """The same form gets its first result again."""
    key = new_key()
    assert process_once(ann, key, "/a/", lambda: {"n": 1}) == ({"n": 1, "form": "/a/"}, True)
    assert process_once(ann, key, "/a/", lambda: {"n": 2}) == ({"n": 1, "form": "/a/"}, False)
    did: list[int] = []
    with pytest.raises(InputError, match="already submitted from this page"):
        process_once(ann, key, "/b/", lambda: did.append(1) or {})
    assert did == []


@BOTH
def test_form_sent_by_many_threads_acts_once(database: Any, ann: Any) -> None:
    key, acted = new_key(), []

    def send(number: int) -> tuple[dict[str, Any], bool]:
        def act() -> dict[str, Any]:
            acted.append(number)
            Person.objects.create_user(f"made-{number}")
            return {"number": number}

        return process_once(ann, key, "/x/", act)

    results = at_once(send, range(16))
    assert len({result["number"] for result, _ in results}) == 1
    assert [len(acted), sum(new for _, new in results)] == [1, 1]
    assert Person.objects.filter(name__startswith="made").count() == 1
