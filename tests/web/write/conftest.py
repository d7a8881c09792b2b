"""Contributors who have agreed to the texts, and a twin that breaks no rule."""

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
"""A twin that holds the anchor word "water" and keeps every rule."""


ANCHORS = ("water", "garden", "hose")


def typed(**changes: str) -> Any:
    """Return the form above as it is typed, with changes."""
    from winosmith.web.write.rules import TwinInput

    return TwinInput.from_form({**FORM, **changes})


def submitted(somebody: Any, key: str = "", **arguments: Any) -> Any:
    """Return the twin that somebody sends, of the form above unless `typed` is given."""
    from winosmith.web.people.gates import new_key
    from winosmith.web.write.models import Draft
    from winosmith.web.write.rules import submit_draft

    fields = arguments.pop("typed", typed())
    return submit_draft(
        somebody, fields, Draft(ref=key or new_key(), anchors=list(ANCHORS), **arguments)
    )


@pytest.fixture
def ann(contributor: Callable[..., Any]) -> Any:
    """Return somebody who agreed to the texts."""
    return contributor()


@pytest.fixture
def bob(contributor: Callable[..., Any]) -> Any:
    """Return somebody else who agreed to the texts."""
    return contributor("bob")


def draft(somebody: Any) -> Any:
    """Begin a draft whose anchor words are "water", "garden" and "hose"."""
    from winosmith.topics import Topic
    from winosmith.web.write.rules import start_draft

    text = "Pour the water from a hose. The garden needs water each evening in a dry summer."
    return start_draft(somebody, Topic("Water a garden", text, ANCHORS))


def text(answer: Any) -> str:
    """Return the page of an answer."""
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
    """Return the answer to the form of a draft, sent from its contributor's browser."""
    form = {**FORM, "version": str(fresh(one).version), "do": "submit", **changes}
    return client.post(f"/write/{one.ref}/", form)
