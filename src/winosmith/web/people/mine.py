"""Everything that the site holds about one person, as one file."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from django.db.models import Model

from winosmith.web.people.models import Person
from winosmith.web.people.pseudonyms import pseudonym
from winosmith.web.perturb.models import Version
from winosmith.web.problems.models import Event, Problem
from winosmith.web.problems.public import visible_to

HIDDEN = {
    *("id", "digest", "key", "session_key", "session_data", "person", "holder", "contributor"),
    *("gold", "n", "place", "block", "cursor"),
}
"""Columns that are keys of the site, or would tell which questions are gold, or come to be."""


def data_about(person: Person) -> dict[str, Any]:
    """Return all data about a person, as JSON can hold them.

    Every table that points at people is in it, also one that is added later.
    """
    from winosmith.web.market.workers import studies_of
    from winosmith.web.take.subjects import tests_of

    told: dict[str, Any] = {
        "name": None if person.anonymous else person.name,
        "pseudonym": pseudonym(person),
        "joined": person.joined,
        "last_login": person.last_login,
        "roles": {
            "judge": person.is_judge,
            "moderator": person.is_moderator,
            "admin": person.is_superuser,
        },
        "problems": _problems(person),
        "agreed": [
            {"text": a.document.kind, "version": a.document.version, "at": a.at}
            for a in person.agreements.select_related("document")
        ],
        "tests": tests_of(person),
        "studies": studies_of(person),
    }
    told["other"] = {
        f"{model._meta.label}.{column}": rows
        for model, column in _pointing()
        if (rows := _rows(model, column, person))
    }
    return told


def _pointing() -> list[tuple[type[Model], str]]:
    """Return each table and column that points at people, but those told in words of their own."""
    relations = Person._meta.get_fields(include_hidden=True)
    columns = [
        (relation.related_model, relation.field.name)
        for relation in relations
        if relation.auto_created and not relation.concrete
    ]
    own = ("people.Agreement", "problems.Twin", "take.Subject", "market.Participation")
    return [
        (model, column)
        for model, column in columns
        if column != "contributor" and model._meta.label not in own
    ]


def _problems(person: Person) -> list[dict[str, Any]]:
    """Return somebody's problems with what was done to each, in three statements however many."""
    events: dict[int, list[Event]] = defaultdict(list)
    for event in Event.objects.filter(problem__twin__contributor=person).order_by("pk"):
        events[event.problem_id].append(event)
    versions = {
        version.problem_id: version
        for version in Version.objects.filter(problem__twin__contributor=person).select_related(
            "root", "parent"
        )
    }
    rows = Problem.objects.filter(twin__contributor=person, gold=False)
    return [
        _problem(row, events[row.pk]) | _family(versions.get(row.pk))
        for row in rows.select_related("twin").order_by("pk")
    ]


def _problem(row: Problem, events: list[Event]) -> dict[str, Any]:
    return {
        "id": row.ref,
        "twin": row.twin.ref,
        "sentence": row.sentence,
        "options": row.options,
        "answer": row.answer,
        "state": row.state,
        "reasons": row.reasons,
        "topic": row.twin.topic,
        "anchor": row.twin.anchor,
        "domain": row.twin.domain,
        "licence": row.twin.licence,
        "created": row.created,
        "history": [
            {"at": e.at, "what": e.kind, "after": e.after, "reason": e.reason} for e in events
        ],
    }


def _family(version: Version | None) -> dict[str, Any]:
    """Return a perturbed problem's place in its family; the words of its parent are another's."""
    if version is None or version.parent is None:
        return {}
    depths = {name: getattr(version, name) for name in ("declared", "lineage", "edit")}
    return {"root": version.root.ref, "parent": version.parent.ref, "depths": depths}


def _rows(model: type[Model], column: str, person: Person) -> list[dict[str, Any]]:
    """Return the rows of a table that point at a person, their problems looked up with them."""
    rows = model._base_manager.filter(**{column: person})
    if any(field.name == "problem" for field in model._meta.concrete_fields):
        rows = rows.select_related("problem__twin")
    return [_row(row, person) for row in rows]


def _row(row: Model, person: Person) -> dict[str, Any]:
    """Return a row without what is not the person's: keys, and marks of gold.

    A problem is named where the person may see it; by any other's id gold could be known.
    """
    told = {
        field.name: getattr(row, field.attname)
        for field in row._meta.concrete_fields
        if field.name not in HIDDEN and not field.is_relation
    }
    problem = getattr(row, "problem", None)
    if problem is None or not visible_to(person, problem):
        return told
    return {**told, "problem": problem.ref}
