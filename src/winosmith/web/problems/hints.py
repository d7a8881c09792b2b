"""Hints: what makes a moderator's look at a new twin worth while, each a short text.

Near-duplicates, what may concern real people (contact data, names), what makes reading unpleasant,
and characters that deceive.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from django.conf import settings
from django.utils import translation
from django.utils.translation import gettext as _

from winosmith.web.people.models import Person
from winosmith.web.problems.checks import AnyHalf
from winosmith.web.problems.lookalikes import Lookalike, lookalikes_of
from winosmith.web.problems.models import Problem
from winosmith.web.suspicions import (
    contact_data,
    flagged_words,
    foreign_lookalikes,
    full_names,
    invisible,
    shouting,
)

MOST_NAMED = 3
"""Findings of one kind that a hint names."""


def hints(
    halves: Sequence[AnyHalf],
    contributor: Person | None = None,
    *,
    without: int | None = None,
    family: Problem | None = None,
) -> list[str]:
    """Return what a moderator should know of a twin, in the site's language; for `Problem.hints`.

    No hint holds a text or an id that the contributor may not see, but that a problem under
    embargo is alike is a hint here: show these to moderators alone.

    Args:
        halves: one or two.
        contributor: who wrote them.
        without: the key of a twin that these revise.
        family: the root of the family that these belong to; nothing of it is worth a hint.
    """
    with translation.override(settings.LANGUAGE_CODE):
        near = _near(halves, contributor, without, family, everything=True)
        return [*text_hints(halves, settings.RULES.words_to_flag), *lookalike_hints(near)]


def live_hints(
    halves: Sequence[AnyHalf],
    contributor: Person | None = None,
    *,
    without: int | None = None,
    family: Problem | None = None,
) -> list[str]:
    """Return what the contributor may know while writing, in the language of the page."""
    near = _near(halves, contributor, without, family, everything=False)
    return [*text_hints(halves, settings.RULES.words_to_flag), *lookalike_hints(near)]


def text_hints(halves: Sequence[AnyHalf], words_to_flag: Sequence[str] = ()) -> list[str]:
    """Return what the texts themselves show; each finding once, though both halves have it."""
    found = [_found(half.sentence, tuple(half.options), tuple(words_to_flag)) for half in halves]
    kinds = (
        _("words on this site's list"),
        _("what may be contact data"),
        _("what may be a real person's full name"),
        _("shouting"),
        _("characters that can't be seen"),
        _("characters that only look like Latin letters"),
    )
    return [
        f"{kind}: {_listed([one for each in of_halves for one in each])}"
        for kind, *of_halves in zip(kinds, *found, strict=True)
        if any(of_halves)
    ]


@lru_cache(500)
def _found(
    sentence: str, options: tuple[str, ...], words_to_flag: tuple[str, ...]
) -> tuple[tuple[str, ...], ...]:
    """Return what a half shows, by its kind; kept, for while one half is typed the other rests."""
    texts = (sentence, *options)
    names = [full_names(sentence, options), *map(full_names, options)]
    return (
        tuple(w for t in texts for w in flagged_words(t, words_to_flag)),
        tuple(found for t in texts for found in contact_data(t)),
        tuple(name for each in names for name in each),
        tuple(found for t in texts for found in shouting(t)),
        tuple(name for t in texts for name in invisible(t)),
        tuple(name for t in texts for name in foreign_lookalikes(t)),
    )


def lookalike_hints(near: Sequence[Lookalike]) -> list[str]:
    """Return a text for each near-duplicate, as much as its reader may know."""
    return list(dict.fromkeys(map(_lookalike_hint, near)))


def _near(
    halves: Sequence[AnyHalf],
    reader: Person | None,
    without: int | None,
    family: Problem | None,
    *,
    everything: bool,
) -> list[Lookalike]:
    """Return the near-duplicates of all halves, each once, the nearest first."""
    return lookalikes_of(
        halves,
        without=without,
        family=family,
        reader=reader,
        hidden_too=everything,
        most=MOST_NAMED,
    )


def _lookalike_hint(one: Lookalike) -> str:
    share = f"{one.share:.0%}".replace("%", " %")
    if one.where:
        return _("shares {share} of its words with {ref} of {source}").format(
            share=share, ref=one.ref, source=one.where
        )
    if one.sentence is None:
        return _("shares most of its words with a problem of this site that is not public")
    return _("shares {share} of its words with {ref} of this site").format(share=share, ref=one.ref)


def _listed(found: Sequence[str]) -> str:
    distinct = list(dict.fromkeys(found))
    more = "…" if len(distinct) > MOST_NAMED else ""
    return ", ".join((*distinct[:MOST_NAMED], *([more] if more else [])))
