"""Drafts: whose they are, and that nothing typed is lost."""

from typing import Any

import pytest

from tests.web.together import at_once
from tests.web.write.conftest import draft, typed
from winosmith.errors import InputError
from winosmith.web.write import rules
from winosmith.web.write.rules import StaleDraftError, get_draft, save_draft


def test_drafts_are_saved_and_never_overwritten_unseen(database: Any, ann: Any) -> None:
    """Of sixteen windows that save different texts of one version, one wins; the others know."""
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


def test_drafts_are_their_writer_s_alone(db: Any, ann: Any, bob: Any) -> None:
    """Nobody else opens a draft; untouched topics are no drafts; there are not too many."""
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


def test_other_words_and_another_topic_keep_what_was_typed(db: Any, ann: Any) -> None:
    """Drawing again changes topic or words and the version, and no text."""
    one = rules.save_draft(draft(ann), typed(), 0)
    words = rules.redraw_topic(one, "words")
    assert (words.topic, words.version) == ("Water a garden", 2)
    assert set(words.anchors) != {"water", "garden", "hose"}
    other = rules.redraw_topic(words, "topic")
    assert other.topic != "Water a garden"
    assert other.typed == typed().as_form()
