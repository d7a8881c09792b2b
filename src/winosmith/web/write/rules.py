"""What contributors may do: drafts, saved as somebody types; twins, sent, revised, withdrawn."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Literal

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext as _

from winosmith.errors import InputError
from winosmith.topics import Topic, open_topics
from winosmith.web._lock import writing
from winosmith.web.judge.submissions import enter, may_revise, replace
from winosmith.web.people.consent import has_agreed
from winosmith.web.people.gates import once
from winosmith.web.people.models import Done, Person
from winosmith.web.problems.checks import Refused, by_field, hints
from winosmith.web.problems.models import Twin, new_ref
from winosmith.web.write.checking import Typed, anchor_of, examine
from winosmith.web.write.models import Draft

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


SOURCE = "crowd"
"""Of what is written on the site, in the data."""

OF_THE_FORM = ("domain", "options differ")
"""Checks of fields that no half has; the other ones of both halves wait until both are written."""


def submit(
    person: Person,
    typed: Typed,
    key: str,
    *,
    topic: str = "",
    anchors: Sequence[str] = (),
    revises: Twin | None = None,
    before: Callable[[], object] | None = None,
) -> Twin:
    """Make a twin of what was typed, once for a key, and give it to the judges or a moderator.

    Its draft (the one whose `ref` is the key) goes with the same transaction.

    Args:
        person: the contributor, who has agreed to the texts that hold now.
        typed: both halves.
        key: of the form; sent again, it returns the same twin.
        topic: the title of the topic.
        anchors: the words that were drawn from it; empty for none.
        revises: a twin of the same person that this one replaces.
        before: what must succeed first, in the same transaction (a rate limit).

    Raises:
        Refused: a rule is broken; nothing was written.
        InputError: the person has not agreed to the texts, or may not revise that twin.
    """
    # The texts are read before one's turn to write comes: others need not wait for that.
    faults = _faults(typed, anchors)
    found = [] if faults else hints(typed.halves(), person, without=revises and revises.pk)

    def act() -> dict[str, str]:
        if not has_agreed(person):
            raise InputError(_("Agree to the site's texts first; what you typed is kept."))
        if faults:
            raise Refused(faults)
        if before:
            before()
        made.append(_made(person, typed, topic, anchors, revises, found))
        Draft.objects.filter(person=person, ref=key).delete()
        return {"twin": made[0].ref}

    made: list[Twin] = []
    result, _new = once(person, key, "twin", act)
    return made[0] if made else Twin.objects.get(ref=result["twin"])


def sent(person: Person | None, key: str) -> str:
    """Return the `ref` of the twin that came of a form; "" when it was not sent."""
    done = Done.objects.filter(person=person, key=key).first() if person else None
    return str(done.result.get("twin", "")) if done else ""


def revise(person: Person, twin: Twin) -> Draft:
    """Return the draft that revises a twin, filled with it.

    Raises:
        InputError: the twin can't be revised by this person.
    """
    with writing():
        if not may_revise(person, twin):
            raise InputError(_("This twin can't be revised: it is decided, replaced or withdrawn."))
        return revision(person, twin, typed_of(twin))


def typed_of(twin: Twin) -> Typed:
    """Return a twin as it was typed; a half that is missing is empty."""
    problems = list(twin.problems.order_by("pk"))
    options = tuple(problems[0].options[:2]) if problems else ("", "")
    form: dict[str, object] = {"domain": twin.domain, "answer_1": "", "answer_2": ""}
    form |= {f"option_{number}": option for number, option in enumerate(options, 1)}
    for number, problem in enumerate(problems[:2], 1):
        form[f"sentence_{number}"] = problem.sentence
        form[f"answer_{number}"] = "" if problem.answer is None else problem.answer
    return Typed.of(form)


def _faults(typed: Typed, anchors: Sequence[str]) -> dict[str, list[str]]:
    """Return what to do, by field; of a half that is empty no more than to write it."""
    open_checks = [check for check in examine(typed, anchors) if check.verdict in ("fail", "todo")]
    first = [
        check
        for check in open_checks
        if (check.half is None or typed.sentences[check.half] or check.rule == "blank")
        and (check.verdict == "fail" or check.half is not None or check.rule in OF_THE_FORM)
    ]
    return by_field(first or open_checks)


def _made(
    person: Person,
    typed: Typed,
    topic: str,
    anchors: Sequence[str],
    revises: Twin | None,
    found: Sequence[str],
) -> Twin:
    """Write the twin, its halves in random order, and what it replaces."""
    embargo = replace(person, revises) if revises else False
    twin = Twin.objects.create(
        ref=new_ref(),
        contributor=person,
        source=SOURCE,
        domain=typed.domain,
        topic=topic[:200],
        anchor=anchor_of(typed.sentences, anchors)[:200],
        licence=settings.RULES.licence[:60],
        revises=revises,
    )
    enter(twin, typed.halves(), found, embargo=embargo)
    return twin
