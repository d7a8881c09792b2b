"""The board: who made how many valid versions, and whom they fooled; pseudonyms alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.db import connection
from django.utils.translation import gettext_lazy as _

from winosmith.web.families.kept import Kept
from winosmith.web.people.models import Person, pseudonym

SIZE = 50
"""People on a page."""

SORTS = {
    "fools": _("models fooled"),
    "versions": _("versions"),
    "families": _("families begun"),
    "deepest": _("the deepest version that fooled a model"),
}


@dataclass(slots=True)
class Entry:
    """What one contributor did; only what is valid and public counts.

    Attributes:
        name: the pseudonym.
        versions: perturbed problems.
        families: families in which theirs is the first version of all.
        fools: the number of a current model → how many of the versions fooled it.
        deepest: the greatest edit depth of a version that fooled a current model; None without.
        rank: by what the board is sorted by; who has as much has the same.
    """

    name: str
    versions: int = 0
    families: int = 0
    fools: dict[int, int] = field(default_factory=dict)
    deepest: int | None = None
    rank: int = 0

    @property
    def fooled(self) -> int:
        """How many answers of current models are wrong, together."""
        return sum(self.fools.values())


@dataclass(frozen=True, slots=True)
class Board:
    """A page of the board: the entries, the number of the page from 1, of how many, of whom."""

    entries: Sequence[Entry]
    page: int
    pages: int
    count: int


_FROM = """FROM perturb_version v
    JOIN problems_problem p ON p.id = v.problem_id
    JOIN problems_twin t ON t.id = p.twin_id"""
_WHERE = """WHERE v.step > 0 AND t.contributor_id IS NOT NULL AND p.public"""
_VERSIONS = f"SELECT t.contributor_id, count(*) {_FROM} {_WHERE} GROUP BY 1"
_FIRST = f"""SELECT t.contributor_id, count(*) {_FROM} {_WHERE} AND v.problem_id IN (
    SELECT min(v.problem_id) FROM perturb_version v
    JOIN problems_problem p ON p.id = v.problem_id
    WHERE v.step > 0 AND p.public GROUP BY v.root_id
    ) GROUP BY 1"""  # noqa: S608
_FOOLS = f"""SELECT t.contributor_id, r.model_id, count(*), coalesce(max(v.edit), 0) {_FROM}
    JOIN predict_prediction r ON r.problem_id = v.problem_id
    JOIN predict_model m ON m.id = r.model_id
    {_WHERE} AND m.current AND NOT r."right" GROUP BY 1, 2"""


def entries() -> list[Entry]:
    """Return what each contributor did, counted now, in no order."""
    rows: dict[str, Sequence[Any]] = {}
    with connection.cursor() as cursor:
        for name, query in (("versions", _VERSIONS), ("families", _FIRST), ("fools", _FOOLS)):
            cursor.execute(query)
            rows[name] = cursor.fetchall()
    people = Person.objects.only("pk", "salt").in_bulk([row[0] for row in rows["versions"]])
    found = {number: Entry(pseudonym(person)) for number, person in people.items()}
    for number, versions in rows["versions"]:
        found[number].versions = versions
    for number, begun in rows["families"]:
        if number in found:
            found[number].families = begun
    for number, model, fools, deepest in rows["fools"]:
        if number in found:
            entry = found[number]
            entry.fools[model] = fools
            entry.deepest = deepest if entry.deepest is None else max(deepest, entry.deepest)
    return list(found.values())


_ENTRIES = Kept(entries)


def board(sort: str, page: int) -> Board:
    """Return a page of the board.

    Args:
        sort: one of `SORTS`; anything else is "fools".
        page: from 1; beyond the last, the last.
    """
    value = _VALUES.get(sort, _VALUES["fools"])
    found = sorted(_ENTRIES.latest(), key=lambda entry: (-value(entry), entry.name))
    values = [value(entry) for entry in found]
    ranks = {value: place for place, value in reversed(list(enumerate(values, 1)))}
    pages = max(1, -(-len(found) // SIZE))
    page = min(max(page, 1), pages)
    here = found[SIZE * (page - 1) : SIZE * page]
    ranked = [replace(entry, rank=ranks[value(entry)]) for entry in here]
    return Board(ranked, page, pages, len(found))


_VALUES: dict[str, Any] = {
    "fools": lambda entry: entry.fooled,
    "versions": lambda entry: entry.versions,
    "families": lambda entry: entry.families,
    "deepest": lambda entry: entry.deepest or 0,
}
