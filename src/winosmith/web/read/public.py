"""The public problems: statistics, the data card, filters, and pagination.

Only decided problems without an embargo are counted. Therefore, the numbers reveal only how many
problems are public, and how many were rejected. A page starts after the key of the previous page's
last problem, so that every page of a long list is fast.
"""

from __future__ import annotations

import hmac
from datetime import UTC, datetime, time
from typing import Any

from django import forms
from django.conf import settings
from django.core.validators import RegexValidator
from django.db.models import Count, Exists, F, IntegerField, Max, Min, OuterRef, Q, QuerySet
from django.db.models.functions import Cast
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from winosmith.validate import DOMAINS
from winosmith.web._cache import get_cached_stats
from winosmith.web.judge.models import Verdict
from winosmith.web.judge.votes import measure_agreement
from winosmith.web.people.models import find_person, make_digest
from winosmith.web.people.privacy import get_current_documents
from winosmith.web.problems.models import Problem, State, Version
from winosmith.web.problems.records import filter_by_family, filter_by_kind
from winosmith.web.problems.search import Page, filter_by_terms, parse_terms
from winosmith.web.problems.states import get_public_problems


def get_stats() -> dict[str, Any]:
    """Return the site's statistics, which are cached on large sites.

    - `problems`: The number of public problems; `domains` contains this number by domain ("" for no
      domain).
    - `twins`: The number of twins with two public halves.
    - `singles`: The number of public originals whose other half is not public.
    - `perturbed`: The number of public perturbed problems; `families` is the number of their roots.
    - `contributors`: The number of people who wrote public problems on this site; `imported` is the
      number of public problems from files.
    - `judged`: The number of problems that judges have decided here. Problems under embargo,
      problems that wait for their other half, and problems imported as valid are excluded.
    - `valid`, `rejected`: The numbers of judged problems that are valid (and public), and of those
      that are rejected; `valid_percent` and `rejected_percent` are None if no problem was judged.
    - `since`, `until`: The times when the first and the last public problem were written.
    """
    return get_cached_stats("read.figures", _compute_stats)


def _compute_stats() -> tuple[int, dict[str, Any]]:
    public = get_public_problems().select_related(None).order_by()
    totals = public.aggregate(
        problems=Count("id"),
        groups=Count("twin", distinct=True),
        contributors=Count("twin__contributor", distinct=True),
        imported=Count("id", filter=Q(twin__contributor=None)),
        valid=Count("verdict"),
        since=Min("twin__created"),
        until=Max("twin__created"),
    )
    twins = totals["problems"] - totals.pop("groups")
    perturbed = public.filter(version__parent__isnull=False).aggregate(
        problems=Count("id"),
        groups=Count("twin", distinct=True),
        families=Count("version__root", distinct=True),
    )
    single = 2 * perturbed["groups"] - perturbed["problems"]
    rejected = Verdict.objects.filter(
        problem__state=State.REJECTED,
        problem__embargo=False,
        problem__gold=False,
        problem__waits=False,
    ).count()
    domains = public.values_list("twin__domain").annotate(n=Count("id")).order_by("-n")
    judged = totals["valid"] + rejected
    return totals["problems"], {
        **totals,
        "twins": twins,
        "singles": totals["problems"] - 2 * twins - single,
        "judged": judged,
        "rejected": rejected,
        "valid_percent": 100 * totals["valid"] / judged if judged else None,
        "rejected_percent": 100 * rejected / judged if judged else None,
        "domains": dict(domains),
        "perturbed": perturbed["problems"],
        "families": perturbed["families"],
    }


def get_example_twin() -> list[Problem]:
    """Return the halves of the home page's example twin, or an empty list.

    The example is the public twin with the most votes among those on which all judges agreed, or
    the oldest of several. A twin is never shown just because it is new.
    """
    twin = get_cached_stats(
        "read.example", lambda: (get_stats()["problems"], _find_unanimous_twin())
    )
    halves = list(get_public_problems().filter(twin=twin).order_by("id")) if twin else []
    return halves if len(halves) == 2 else []


def _find_unanimous_twin() -> int | None:
    agreed = ~Q(verdict__counts__contains=",") & ~Q(verdict__counts="") & Q(verdict__valid=True)
    rows = get_public_problems().filter(agreed, verdict__isnull=False)
    other = rows.filter(twin=OuterRef("twin")).exclude(pk=OuterRef("pk"))
    perturbed = Version.objects.filter(problem=OuterRef("pk"), parent__isnull=False)
    rows = rows.filter(Exists(other), ~Exists(perturbed))
    votes = Cast("verdict__counts", IntegerField())
    return rows.order_by(votes.desc(), "twin").values_list("twin", flat=True).first()


AGREEMENTS = [("all", _("all agreed")), ("most", _("most agreed")), ("none", _("not judged here"))]
"""Choices of the agreement filter."""


def make_card_context() -> dict[str, Any]:
    return {
        "figures": get_stats(),
        "agreement": measure_agreement(),
        "rules": settings.RULES,
        "documents": get_current_documents(),
    }


MAX_ROWS_COUNTED = 1_000
"""Maximum number of problems that a page counts. For more problems, the page shows "more than",
which is faster."""


def _make_choice_field(label: Any, *choices: tuple[str, Any]) -> forms.ChoiceField:
    return forms.ChoiceField(label=label, required=False, choices=[("", _("any")), *choices])


def _make_date_field(label: Any) -> forms.DateField:
    widget = forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
    return forms.DateField(label=label, required=False, widget=widget)


class Filters(forms.Form):
    q = forms.CharField(
        label=_("Words"),
        required=False,
        max_length=200,
        widget=forms.TextInput(attrs={"type": "search", "autocomplete": "off"}),
    )
    domain = _make_choice_field(
        _("Domain"), ("social", _("social")), ("physical", _("physical")), ("other", _("other"))
    )
    twins = _make_choice_field(_("Twins"), ("twins", _("whole twins")), ("singles", _("singles")))
    kind = _make_choice_field(
        _("Kind"), ("original", _("originals")), ("perturbed", _("perturbed"))
    )
    family = forms.CharField(
        label=_("Family of"),
        required=False,
        max_length=80,
        widget=forms.TextInput(
            attrs={"placeholder": _("the id of a problem"), "autocomplete": "off"}
        ),
    )
    agreement = _make_choice_field(_("Judges"), *AGREEMENTS)
    contributor = forms.CharField(
        label=_("Contributor"),
        required=False,
        max_length=20,
        validators=[
            RegexValidator(r"^p-[0-9a-f]{12}$", _("A pseudonym has the form p-1a2b3c4d5e6f."))
        ],
        widget=forms.TextInput(attrs={"placeholder": "p-…", "autocomplete": "off"}),
    )
    since = _make_date_field(_("Written from"))
    until = _make_date_field(_("Written until"))

    def __init__(self, *args: Any, **fields: Any):
        super().__init__(*args, label_suffix="", **fields)

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or {}
        since, until = data.get("since"), data.get("until")
        if since and until and until < since:
            self.add_error("until", _("The end of the period is before its start."))
        return data

    @property
    def is_active(self) -> bool:
        """Whether any filter is set, including the search words."""
        return any(self.data.get(name) for name in self.fields)

    @property
    def detail_fields(self) -> list[forms.BoundField]:
        return [field for field in self if field.name != "q"]

    @property
    def is_narrowed(self) -> bool:
        """Whether any filter except the search words is set."""
        return any(self.data.get(field.name) for field in self.detail_fields)

    def get_params(self) -> QueryDict:
        """Return the request's parameters that are filters."""
        kept = QueryDict(mutable=True)
        for name in self.fields:
            if self.data.get(name):
                kept[name] = self.data[name]
        return kept

    def apply(self) -> QuerySet[Problem]:
        """Return the matching public problems; an invalid field matches none.

        The problems have the alias `place` for sorting, as in `problems.search.filter_by_terms`.
        """
        query = get_public_problems().alias(place=F("id"))
        if not self.is_valid():
            return query.none()
        data = self.cleaned_data
        if data["domain"] == "other":
            query = query.exclude(twin__domain__in=DOMAINS)
        elif data["domain"]:
            query = query.filter(twin__domain=data["domain"])
        if data["twins"]:
            other = get_public_problems().filter(twin=OuterRef("twin")).exclude(pk=OuterRef("pk"))
            query = query.filter(Exists(other) if data["twins"] == "twins" else ~Exists(other))
        if data["kind"]:
            query = filter_by_kind(query, data["kind"])
        if data["family"]:
            if get_public_problems().filter(ref=data["family"]).exists():
                query = filter_by_family(query, data["family"])
            else:  # a hidden problem must be the root
                family = Version.objects.filter(root__ref=data["family"])
                query = query.filter(pk__in=family.values("problem"))
        if data["agreement"] == "none":
            query = query.filter(verdict=None)
        elif data["agreement"] == "most":
            query = query.filter(verdict__counts__contains=",")
        elif data["agreement"]:
            query = query.exclude(verdict=None).exclude(verdict__counts__contains=",")
        if data["contributor"]:
            query = query.filter(twin__contributor=find_person(data["contributor"]) or -1)
        if data["since"]:
            query = query.filter(twin__created__gte=_make_utc_datetime(data["since"], time.min))
        if data["until"]:
            query = query.filter(twin__created__lte=_make_utc_datetime(data["until"], time.max))
        if data["q"]:
            query = filter_by_terms(query, parse_terms(data["q"]))
        return query


def count_rows(query: QuerySet[Problem]) -> tuple[int, bool]:
    """Count rows up to `MAX_ROWS_COUNTED`, and return whether there are more."""
    found = query.values("id")[: MAX_ROWS_COUNTED + 1].count()
    return min(found, MAX_ROWS_COUNTED), found > MAX_ROWS_COUNTED


def _make_utc_datetime(day: Any, clock_time: time) -> datetime:
    return datetime.combine(day, clock_time, tzinfo=UTC)


PAGE_SIZE = 20


MARK_LENGTH = 32
"""Number of hex digits of an encrypted key."""


def encrypt_key(key: int) -> str:
    """Encrypt a row's key as 32 hex digits that only this site can read.

    Rows are numbered consecutively, including hidden ones, so plain keys would reveal how many
    problems are hidden.
    """
    nonce = make_digest("page", str(key))[:16]
    return f"{nonce}{key ^ int(make_digest('page number', nonce)[:16], 16):016x}"


def decrypt_key(encrypted: str) -> int | None:
    """Decrypt a key from `encrypt_key`; return None if it wasn't encrypted by this site."""
    if len(encrypted) != MARK_LENGTH:
        return None
    try:
        key = int(encrypted[16:], 16) ^ int(make_digest("page number", encrypted[:16])[:16], 16)
    except ValueError:
        return None
    return key if hmac.compare_digest(encrypt_key(key).encode(), encrypted.encode()) else None


def get_page(query: QuerySet[Problem], params: QueryDict) -> Page:
    """Return a page of problems, newest first. The query has the alias `place` (`Filters.apply`).

    The encrypted key in the parameter `after` or `before` determines the page. Without a valid key,
    it is the first page.
    """
    after, before = decrypt_key(params.get("after", "")), decrypt_key(params.get("before", ""))
    back = before is not None and after is None
    mark = before if back else after
    if mark is not None:
        query = query.filter(**{"place__gt" if back else "place__lt": mark})
    found = list(query.order_by("place" if back else "-place")[: PAGE_SIZE + 1])
    rows, more = found[:PAGE_SIZE], len(found) > PAGE_SIZE
    if back:
        rows.reverse()
    newer, older = (more, True) if back else (mark is not None, more)
    return Page(
        rows,
        _make_page_query(params, rows, "before", newer),
        _make_page_query(params, rows, "after", older),
    )


def _make_page_query(params: QueryDict, rows: list[Problem], key: str, has_more: bool) -> str:
    if not has_more or not rows:
        return ""
    kept = params.copy()
    for name in ("after", "before"):
        kept.pop(name, None)
    kept[key] = encrypt_key((rows[0] if key == "before" else rows[-1]).pk)
    return kept.urlencode()
