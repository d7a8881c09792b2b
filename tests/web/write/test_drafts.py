"""Drafts: access, and saving without losing text."""

from typing import Any

import pytest

from tests.web.together import at_once
from tests.web.write.conftest import draft, typed
from winosmith.errors import InputError
from winosmith.web.write import rules
from winosmith.web.write.rules import StaleDraftError, get_draft, save_draft


def test_stale_version_never_overwrites_a_draft(database: Any, ann: Any) -> None:
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


def test_drafts_are_private_and_limited_in_number(db: Any, ann: Any, bob: Any) -> None:
    """Untouched topics are not listed as drafts."""
    one = draft(ann)
    assert rules.get_draft(bob, one.ref) is None
    assert rules.get_draft(None, one.ref) is None
    assert rules.list_drafts(ann) == []
    rules.save_draft(one, typed(), 0)
    assert rules.list_drafts(ann) == [one]
    for _number in range(rules.MAX_DRAFTS - 1):
        draft(ann)
    with pytest.raises(InputError, match="finish or discard"):
        draft(ann)


def test_redrawing_words_or_topic_keeps_the_text(db: Any, ann: Any) -> None:
    one = rules.save_draft(draft(ann), typed(), 0)
    words = rules.redraw_topic(one, "words")
    assert (words.topic, words.version) == ("Water a garden", 2)
    assert set(words.anchors) != {"water", "garden", "hose"}
    other = rules.redraw_topic(words, "topic")
    assert other.topic != "Water a garden"
    assert other.typed == typed().as_form()
