"""Contributors who have agreed to the texts, and a twin that breaks no rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

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

    fields, before = arguments.pop("typed", typed()), arguments.pop("before", None)
    draft = Draft(ref=key or new_key(), anchors=list(ANCHORS), **arguments)
    return submit_draft(somebody, fields, draft, precheck=before)


def rules(**changes: Any) -> Any:
    """Change the site's rules within a `with`."""
    from django.conf import settings
    from django.test import override_settings

    return override_settings(RULES=replace(settings.RULES, **changes))


@pytest.fixture
def draft() -> Callable[..., Any]:
    """Return a maker of drafts whose anchor words are "water", "garden" and "hose"."""
    from winosmith.topics import Topic
    from winosmith.web.write.rules import start_draft

    def make(somebody: Any) -> Any:
        text = "Pour the water from a hose. The garden needs water each evening in a dry summer."
        return start_draft(somebody, Topic("Water a garden", text, ("water", "garden", "hose")))

    return make


def text(answer: Any) -> str:
    """Return the page of an answer."""
    return str(answer.content.decode())


@pytest.fixture
def opened(
    db: Any, contributor: Callable[..., Any], draft: Callable[..., Any], visit: Callable[..., Any]
) -> Any:
    """Return a browser of Ann's, her draft, and the draft's address."""
    ann = contributor()
    one = draft(ann)
    return visit(ann), one, f"/write/{one.ref}/"


def send(opened: Any, **changes: str) -> Any:
    """Return the answer to the form, sent from a browser that `opened` gives."""
    client, one, address = opened
    one.refresh_from_db()
    form = {**FORM, "version": str(one.version), "do": "submit", **changes}
    return client.post(address, form)
