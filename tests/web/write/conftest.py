"""Contributors who agreed to the texts, and a twin that keeps every rule."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.web.making import fresh

FORM = {
    "domain": "physical",
    "option_1": "kettle",
    "option_2": "bucket",
    "sentence_1": "Ann carried the water in the bucket and not in the kettle because the _ was "
    "much too small for the garden.",
    "answer_1": "0",
    "sentence_2": "Ann carried the water in the bucket and not in the kettle because the _ was "
    "just large enough for the garden.",
    "answer_2": "1",
}
"""A twin with the anchor word "water" that keeps every rule."""


ANCHORS = ("water", "garden", "hose")


def typed(**changes: str) -> Any:
    """Return the input of FORM, with changes."""
    from winosmith.web.write.rules import TwinInput

    return TwinInput.from_form({**FORM, **changes})


def submitted(somebody: Any, key: str = "", **arguments: Any) -> Any:
    """Submit and return a twin: that of FORM unless `typed` is given."""
    from winosmith.web.people.gates import new_key
    from winosmith.web.problems.models import Twin
    from winosmith.web.write.models import Draft
    from winosmith.web.write.rules import submit_draft

    fields = arguments.pop("typed", typed())
    unsent = Draft(ref=key or new_key(), anchors=list(ANCHORS), **arguments)
    return Twin.objects.get(ref=submit_draft(somebody, fields, unsent))


@pytest.fixture
def ann(contributor: Callable[..., Any]) -> Any:
    """Return a contributor, Ann, who agreed to the texts."""
    return contributor()


@pytest.fixture
def bob(contributor: Callable[..., Any]) -> Any:
    """Return a second contributor, Bob, who agreed to the texts."""
    return contributor("bob")


def draft(somebody: Any) -> Any:
    """Start a draft with the anchor words "water", "garden" and "hose"."""
    from winosmith.topics import Topic
    from winosmith.web.write.rules import start_draft

    text = "Pour the water from a hose. The garden needs water each evening in a dry summer."
    return start_draft(somebody, Topic("Water a garden", text, ANCHORS))


def text(answer: Any) -> str:
    """Return the HTML of a response."""
    return str(answer.content.decode())


@pytest.fixture
def one(db: Any, ann: Any) -> Any:
    """Return a draft of Ann's."""
    return draft(ann)


@pytest.fixture
def client(one: Any, visit: Any) -> Any:
    """Return Ann's browser."""
    return visit(one.person)


@pytest.fixture
def address(one: Any) -> str:
    """Return the draft's address."""
    return f"/write/{one.ref}/"


def send(client: Any, one: Any, **changes: str) -> Any:
    """Submit FORM, with changes, for a draft in its contributor's browser; return the response."""
    form = {**FORM, "version": str(fresh(one).version), "do": "submit", **changes}
    return client.post(f"/write/{one.ref}/", form)
