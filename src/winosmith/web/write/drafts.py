"""Drafts: started with a topic, saved as somebody types, never overwritten unseen, and dropped."""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Literal

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext as _

from winosmith.errors import InputError
from winosmith.topics import Topic, open_topics
from winosmith.web._lock import writing
from winosmith.web.problems.models import Twin
from winosmith.web.write.checking import Typed
from winosmith.web.write.models import Draft

if TYPE_CHECKING:
    from winosmith.web.people.models import Person


MOST = 50
"""Drafts that one person may have."""

LARGEST = 20_000
"""Characters of what a draft keeps: ten times what any twin needs."""

UNTOUCHED = timedelta(hours=1)
"""After so long a topic for which nothing was typed makes room for the next one."""


class Stale(InputError):  # noqa: N818
    """Another window saved the draft after this one read it; `draft` is what it saved."""

    def __init__(self, draft: Draft):
        self.draft = draft
        super().__init__(_("This draft was changed in another window; choose which text to keep."))


def draw() -> Topic:
    """Return a random topic with its anchor words.

    Raises:
        InputError: the site's source of topics has none.
    """
    source = open_topics(settings.RULES.topics, settings.SITE.folder)
    return source.draw(secrets.randbits(32))


def start(person: Person, topic: Topic) -> Draft:
    """Start a draft on a topic; topics for which nothing was typed for an hour go.

    Raises:
        InputError: the person has as many drafts as they may.
    """
    with writing():
        mine, since = Draft.objects.filter(person=person), timezone.now() - UNTOUCHED
        mine.filter(version=0, revises=None, saved__lt=since).delete()
        if mine.count() >= MOST:
            raise InputError(_("You have %d drafts; finish or discard some first.") % MOST)
        return Draft.objects.create(person=person, **_columns(topic))


def draft_of(person: Person | None, ref: str) -> Draft | None:
    """Return a person's own draft; None for anybody else's."""
    if person is None:
        return None
    return Draft.objects.select_related("revises").filter(person=person, ref=ref).first()


def drafts_of(person: Person | None) -> list[Draft]:
    """Return a person's drafts, the last saved first, without topics left untouched."""
    if person is None:
        return []
    mine = Draft.objects.filter(person=person).exclude(version=0, revises=None)
    return list(mine.order_by("-saved"))


def save(draft: Draft, typed: Typed, version: int) -> Draft:
    """Save what a window holds, if no other one saved something else since that window read it.

    Args:
        draft: the draft; read again under lock.
        typed: what the window holds.
        version: the version that the window last read or saved.

    Raises:
        Stale: another window was quicker; nothing was overwritten.
        InputError: the text is far too long, or the draft was sent or discarded meanwhile.
    """
    stop_if_long(typed)
    with writing():
        now = _locked(draft)
        if Typed.of(now.typed) == typed:
            return now
        if now.version != version:
            raise Stale(now)
        return _keep(now, typed=typed.as_form())


def stop_if_long(typed: Typed) -> None:
    """Raise InputError for what is longer than any draft: it is neither checked nor kept."""
    if typed.size > LARGEST:
        raise InputError(_("That is far too long for a twin: %d characters.") % typed.size)


def redraw(draft: Draft, what: Literal["topic", "words"]) -> Draft:
    """Draw another topic, or other anchor words from the same one; what was typed stays.

    Raises:
        InputError: a revision keeps its topic; or the source has none.
    """
    if draft.revises_id:
        raise InputError(_("A revision keeps the topic and the anchor words of its twin."))
    topic = draw() if what == "topic" else _other_words(draft)
    with writing():
        return _keep(_locked(draft), **_columns(topic))


def discard(draft: Draft) -> None:
    """Throw a draft away."""
    with writing():
        Draft.objects.filter(pk=draft.pk).delete()


def revision(person: Person, twin: Twin, typed: Typed) -> Draft:
    """Return the one draft that revises a twin; made, filled with the twin, where there is none."""
    with writing():
        draft, _new = Draft.objects.get_or_create(
            revises=twin,
            defaults={
                "person": person,
                "topic": twin.topic,
                "anchors": twin.anchor.split(),
                "typed": typed.as_form(),
            },
        )
        return draft


def _locked(draft: Draft) -> Draft:
    now = Draft.objects.select_for_update().filter(pk=draft.pk).first()
    if now is None:
        raise InputError(_("This draft was sent or discarded in another window."))
    return now


def _keep(draft: Draft, **columns: object) -> Draft:
    for name, value in columns.items():
        setattr(draft, name, value)
    draft.version += 1
    draft.saved = timezone.now()
    draft.save(update_fields=[*columns, "version", "saved"])
    return draft


def _columns(topic: Topic) -> dict[str, object]:
    return {"topic": topic.title[:200], "text": topic.text, "anchors": list(topic.anchors)}


def _other_words(draft: Draft) -> Topic:
    """Return the draft's topic with anchor words of which one is new, where the text has more."""
    topic = Topic(draft.topic, draft.text)
    drawn = topic
    for _try in range(10):
        drawn = topic.with_anchors(secrets.randbits(32))
        if set(drawn.anchors) != set(draft.anchors):
            break
    return drawn


def drop_old_drafts(_now: datetime, before: datetime) -> int:
    """Delete the drafts that were last saved before the site's retention began."""
    with writing():
        deleted, _rows = Draft.objects.filter(saved__lt=before).delete()
    return int(deleted)


def drop_drafts(person: Person, _texts: bool) -> None:
    """Delete all drafts of somebody who is erased."""
    Draft.objects.filter(person=person).delete()


def adopt_drafts(account: Person, anonymous: Person) -> None:
    """Give the drafts of somebody without an account to one."""
    Draft.objects.filter(person=anonymous).update(person=account)
