"""A problem as a judge sees it: the local context alone or the whole, options in their order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.conf import settings

from winosmith.problem import BLANK
from winosmith.web.judge.models import Slot
from winosmith.web.judge.taking import needs_local, shown_first


def shown(slot: Slot, typed: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the page of a slot shows.

    Args:
        slot: one that is held.
        typed: what the judge sent before, to be shown again; or what they took back.
    """
    problem, first = slot.problem, needs_local(slot)
    sentence = shown_first(problem) if first else problem.sentence
    before, _, after = sentence.partition(BLANK)
    earlier = typed.get("choice", "") if typed else "" if slot.choice is None else str(slot.choice)
    if first and not typed:
        earlier = ""
    return {
        "slot": slot,
        "problem": problem,
        "first": first,
        "steps": settings.RULES.local_first,
        "cut": first and sentence != problem.sentence,
        "before": before,
        "after": after,
        "options": [
            {"value": at, "text": problem.options[at], "key": key, "chosen": str(at) == earlier}
            for key, at in enumerate(slot.shown, start=1)
        ],
        "ambiguous": "ambiguous" in typed if typed else slot.ambiguous,
        "associative": "associative" in typed if typed else slot.associative,
        "comment": typed.get("comment", "") if typed else slot.comment,
    }
