"""The results of a closed round as a page shows them: figures in words, items with their texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from winosmith.web.numerals import fixed, percent
from winosmith.web.problems.models import Problem
from winosmith.web.take.models import Round

__all__ = ["shown_results"]


def shown_results(round_: Round) -> dict[str, Any]:
    """Return what the page of a closed round shows: `fault`, or `tests` and what is over them."""
    figures = round_.figures
    if not figures:
        return {"fault": _("Nobody handed in an answer.")}
    if fault := figures.get("fault"):
        return {"fault": fault}
    refs = {item["problem"] for test in figures["tests"] for item in test["items"]}
    texts = {row.ref: row for row in Problem.objects.filter(ref__in=refs)}
    return {
        "share": percent(figures["right"] / figures["answers"]),
        "right": figures["right"],
        "answers": figures["answers"],
        "subjects": figures["subjects"],
        "tests": [_test(test, texts) for test in figures["tests"]],
        "halves": [_halves(level) for level in figures["halves"]],
        "pace": [
            {**pace, "seconds": fixed(pace["seconds"], 1), "times": fixed(pace["times_median"], 2)}
            for pace in figures["pace"]
        ],
        "recognised": figures["recognised"],
        "words": figures["words"],
    }


def _test(test: Mapping[str, Any], texts: Mapping[str, Problem]) -> dict[str, Any]:
    items = sorted(test["items"], key=lambda item: item["intended"] / item["asked"])
    return {
        "name": test["name"],
        "facts": _facts(test),
        "subjects": [{**row, "percent": percent(row["share"])} for row in test["subjects"]],
        "histogram": test["histogram"],
        "items": [{**item, "row": texts.get(item["problem"])} for item in items],
        "flagged": sum(item["flagged"] for item in items),
    }


def _facts(test: Mapping[str, Any]) -> list[tuple[str, str]]:
    share, chance = test["share"], test["chance"]
    facts = [
        (_("answers intended"), f"{percent(share['value'])} ({share['right']} / {share['n']})"),
        (_("95 % interval"), _span(share["interval"], 100, 1)),
        (_("guessing"), percent(chance["share"])),
        (_("the most frequent answer of the item"), percent(test["same"])),
        (_("answers of X"), str(test["ambiguous"])),
        (_("Fleiss’ kappa"), _agreement(test["fleiss_kappa"])),
        (_("Krippendorff’s alpha"), _agreement(test["krippendorff_alpha"])),
    ]
    if test["deviation"] is not None:
        points = _("%s points") % fixed(100 * test["deviation"], 1)
        facts.insert(2, (_("deviation of scores"), points))
    if groups := test["groups"]:
        means = " / ".join(percent(mean) for mean in groups["means"])
        facts.append((_("native speakers, others"), means))
    if without := test["without_weakest"]:
        left = ", ".join(without["left_out"])
        facts.append((_("without %s") % left, percent(without["mean"])))
    return facts


def _agreement(found: Mapping[str, Any]) -> str:
    if found["value"] is None or found["interval"] is None:
        return _("not defined: %s") % found["reason"]
    return f"{fixed(found['value'], 2)} ({_span(found['interval'], 1, 2)})"


def _halves(level: Mapping[str, Any]) -> dict[str, Any]:
    better, other = (
        f"{right} / {of}" for right, of in zip(level["right"], level["of"], strict=True)
    )
    return {"better": better, "other": other, "schemas": level["schemas"]}


def _span(interval: list[float], scale: float, places: int) -> str:
    return "–".join(fixed(scale * end, places) for end in interval)
