"""What a reader narrows the public problems down to, for pages and files; a page of what is left.

A page is found by where the last one ended, which stays quick on every page of a long list.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Any

from django import forms
from django.core.validators import RegexValidator
from django.db.models import Exists, F, OuterRef, QuerySet
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from winosmith.web.people.models import Person, keyed, pseudonym
from winosmith.web.problems.models import Problem, Version
from winosmith.web.problems.records import of_family, of_kind
from winosmith.web.problems.search import matching, parse
from winosmith.web.problems.states import public_problems
from winosmith.web.read.figures import AGREEMENTS, agreeing

DOMAINS = ("social", "physical")
"""WinoGrande's two (section 2); whatever else a topic source names is "other"."""

MOST_COUNTED = 1_000
"""Beyond this a page says "more than": counting further costs more than it tells."""


class Filters(forms.Form):
    """The filters; every field may be empty."""

    q = forms.CharField(
        label=_("Words"),
        required=False,
        max_length=200,
        widget=forms.TextInput(attrs={"type": "search", "autocomplete": "off"}),
    )
    domain = forms.ChoiceField(
        label=_("Domain"),
        required=False,
        choices=[
            ("", _("any")),
            ("social", _("social")),
            ("physical", _("physical")),
            ("other", _("other")),
        ],
    )
    twins = forms.ChoiceField(
        label=_("Twins"),
        required=False,
        choices=[("", _("any")), ("twins", _("whole twins")), ("singles", _("singles"))],
    )
    kind = forms.ChoiceField(
        label=_("Kind"),
        required=False,
        choices=[("", _("any")), ("original", _("originals")), ("perturbed", _("perturbed"))],
    )
    family = forms.CharField(
        label=_("Family of"),
        required=False,
        max_length=80,
        widget=forms.TextInput(
            attrs={"placeholder": _("the id of a problem"), "autocomplete": "off"}
        ),
    )
    agreement = forms.ChoiceField(
        label=_("Judges"), required=False, choices=[("", _("any")), *AGREEMENTS]
    )
    contributor = forms.CharField(
        label=_("Contributor"),
        required=False,
        max_length=20,
        validators=[
            RegexValidator(r"^p-[0-9a-f]{12}$", _("A pseudonym reads like p-1a2b3c4d5e6f."))
        ],
        widget=forms.TextInput(attrs={"placeholder": "p-…", "autocomplete": "off"}),
    )
    since = forms.DateField(
        label=_("Written from"),
        required=False,
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
    )
    until = forms.DateField(
        label=_("Written until"),
        required=False,
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
    )

    def __init__(self, *args: Any, **fields: Any):
        super().__init__(*args, label_suffix="", **fields)

    def clean(self) -> dict[str, Any]:
        """Refuse a time that ends before it begins."""
        data: dict[str, Any] = super().clean() or {}
        since, until = data.get("since"), data.get("until")
        if since and until and until < since:
            self.add_error("until", _("This is before the day from which on you look."))
        return data

    @property
    def active(self) -> bool:
        """Whether anything is narrowed down."""
        return any(self.data.get(name) for name in self.fields)

    @property
    def narrowing(self) -> list[forms.BoundField]:
        """The fields beside the words that are searched for."""
        return [field for field in self if field.name != "q"]

    @property
    def narrowed(self) -> bool:
        """Whether one of those is used."""
        return any(self.data.get(field.name) for field in self.narrowing)

    def kept(self) -> QueryDict:
        """Return the query that asks for the same again, without anything else."""
        kept = QueryDict(mutable=True)
        for name in self.fields:
            if self.data.get(name):
                kept[name] = self.data[name]
        return kept

    def apply(self) -> QuerySet[Problem]:
        """Return the public problems that fit; none where a field is wrong.

        They have the alias `place` to be ordered by; see `winosmith.web.problems.search.matching`.
        """
        query = public_problems().alias(place=F("id"))
        if not self.is_valid():
            return query.none()
        data = self.cleaned_data
        if data["domain"] == "other":
            query = query.exclude(twin__domain__in=DOMAINS)
        elif data["domain"]:
            query = query.filter(twin__domain=data["domain"])
        if data["twins"]:
            query = _twins(query, data["twins"] == "twins")
        if data["kind"]:
            query = of_kind(query, data["kind"])
        if data["family"]:
            query = _of_family(query, data["family"])
        if data["agreement"]:
            query = agreeing(query, data["agreement"])
        if data["contributor"]:
            query = query.filter(twin__contributor__in=_people(data["contributor"]))
        if data["since"]:
            query = query.filter(twin__created__gte=_midnight(data["since"]))
        if data["until"]:
            query = query.filter(twin__created__lt=_midnight(data["until"]) + timedelta(days=1))
        if data["q"]:
            query = matching(query, parse(data["q"]))
        return query


def capped_count(query: QuerySet[Problem]) -> tuple[int, bool]:
    """Return how many rows there are, and whether there are more than were counted."""
    found = query.values("id")[: MOST_COUNTED + 1].count()
    return min(found, MOST_COUNTED), found > MOST_COUNTED


def _twins(query: QuerySet[Problem], whole: bool) -> QuerySet[Problem]:
    """Keep the halves whose other half is public as well, or those whose other half is not."""
    other = (
        public_problems()
        .select_related(None)
        .filter(twin=OuterRef("twin"))
        .exclude(pk=OuterRef("pk"))
    )
    return query.filter(Exists(other) if whole else ~Exists(other))


def _of_family(query: QuerySet[Problem], ref: str) -> QuerySet[Problem]:
    """Keep the public problems of a family; of what is not public only a root is a key to it."""
    known = public_problems().filter(ref=ref).exists()
    if known:
        return of_family(query, ref)
    return query.filter(pk__in=Version.objects.filter(root__ref=ref).values("problem"))


def _people(name: str) -> list[int]:
    """Return who has this pseudonym; it can't be computed backwards, so all are tried."""
    people = Person.objects.filter(twins__isnull=False).distinct().only("pk", "salt")
    return [person.pk for person in people.iterator() if pseudonym(person) == name]


def _midnight(day: Any) -> datetime:
    return datetime.combine(day, time.min, tzinfo=UTC)


SIZE = 20
"""Problems on a page."""


@dataclass(frozen=True, slots=True)
class Page:
    """One page.

    Attributes:
        problems: the newest first.
        newer: the query of the page before; "" when this is the first.
        older: the query of the next page; "" when this is the last.
    """

    problems: list[Problem]
    newer: str
    older: str


SEALED = 32
"""Hex digits of a row's number that was sealed."""


def sealed(number: int) -> str:
    """Return a row's number as 32 hex digits that only this site reads.

    Rows are numbered through, the hidden ones as well: a bare number would tell how many there are.
    """
    nonce = keyed("page", str(number))[:16]
    return f"{nonce}{number ^ int(keyed('page number', nonce)[:16], 16):016x}"


def unsealed(text: str) -> int | None:
    """Return the number that was sealed; None when this site did not seal it."""
    if len(text) != SEALED:
        return None
    try:
        number = int(text[16:], 16) ^ int(keyed("page number", text[:16])[:16], 16)
    except ValueError:
        return None
    return number if hmac.compare_digest(sealed(number).encode(), text.encode()) else None


def page(query: QuerySet[Problem], asked: QueryDict) -> Page:
    """Return the page that `after` (older than) or `before` (newer than) asks for.

    A mark that is none of this site's leads to the first page.

    Args:
        query: problems with the alias `place` (`Filters.apply`).
        asked: the query of the request.
    """
    after, before = unsealed(asked.get("after", "")), unsealed(asked.get("before", ""))
    if before is not None and after is None:
        found = list(query.filter(place__gt=before).order_by("place")[: SIZE + 1])
        more = len(found) > SIZE
        rows = found[:SIZE][::-1]
        return Page(rows, _link(asked, rows, "before", more), _link(asked, rows, "after", True))
    if after is not None:
        query = query.filter(place__lt=after)
    found = list(query.order_by("-place")[: SIZE + 1])
    rows, more = found[:SIZE], len(found) > SIZE
    newer = _link(asked, rows, "before", after is not None)
    return Page(rows, newer, _link(asked, rows, "after", more))


def _link(asked: QueryDict, rows: list[Problem], key: str, more: bool) -> str:
    """Return the query that leads on from the first or last row; "" where nothing is."""
    if not more or not rows:
        return ""
    kept = asked.copy()
    for name in ("after", "before"):
        kept.pop(name, None)
    kept[key] = sealed((rows[0] if key == "before" else rows[-1]).pk)
    return kept.urlencode()
