"""Studies: made, found by their secret link, closed."""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Iterable, Sequence
from decimal import Decimal
from hashlib import sha256
from typing import Any

from django.db import IntegrityError
from django.utils import timezone

from winosmith.errors import InputError
from winosmith.web._lock import writing
from winosmith.web.market.models import Study
from winosmith.web.market.providers import PROVIDERS
from winosmith.web.market.screening import screen

__all__ = ["close_study", "create_study", "find_study", "give_places", "new_link", "study_named"]

TOKEN = 24
"""Random bytes of a link: 192 bits."""

MOST_PLACES = 100_000

CODE = re.compile(r"[A-Za-z0-9-]{1,40}")


def create_study(
    name: str,
    provider: str,
    kind: str,
    amount: int,
    *,
    reward: Decimal,
    currency: str,
    minutes: int,
    places: int,
    least_wage: Decimal | None = None,
    code: str = "",
    short_code: str = "",
    short_reward: Decimal | None = None,
    market_study: str = "",
    trust: bool = False,
    screens: Iterable[tuple[Sequence[str], bool]] = (),
) -> tuple[Study, str]:
    """Make a study; return it with the secret part of its link, which is stored nowhere.

    `screens` are ids of workers, each list with whether they alone may come, or may not; the rest
    is what `Study` keeps by these names.

    Raises:
        InputError: the name is taken or a value can't be used.
    """
    values: dict[str, Any] = {
        "provider": provider, "kind": kind, "amount": amount, "reward": reward,
        "currency": currency, "minutes": minutes, "places": places,
        "least_wage": least_wage, "code": code, "short_code": short_code,
        "short_reward": short_reward, "market_study": market_study, "trust": trust,
    }  # fmt: skip
    _check(name, values)
    token = secrets.token_urlsafe(TOKEN)
    try:
        with writing():
            study = Study.objects.create(name=name, digest=_digest(token), **values)
            for ids, allowed in screens:
                if ids:
                    screen(study, ids, allowed=allowed)
    except IntegrityError:
        raise InputError(f"there is a study {name!r} already; choose another name") from None
    return study, token


def _check(name: str, values: dict[str, Any]) -> None:
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,40}", name):
        raise InputError(f"a study's name has 1 to 40 letters, digits, - and _; not {name!r}")
    if values["provider"] not in PROVIDERS:
        raise InputError(f"{values['provider']!r} is no provider; {', '.join(PROVIDERS)} are")
    if values["kind"] not in Study.Kind.values:
        raise InputError(f"{values['kind']!r} is no work; {', '.join(Study.Kind.values)} are")
    _check_places(values["places"])
    if values["amount"] < 1 or values["minutes"] < 1:
        raise InputError("a study asks for 1 problem or twin or more, and takes 1 minute or more")
    for what in ("reward", "least_wage", "short_reward"):
        value = values[what]
        if value is not None and not (value.is_finite() and 0 <= value < 1_000_000):
            raise InputError(f"{what.replace('_', ' ')} {value} is no sum of money")
        if value is not None and value != round(value, 2):
            raise InputError(f"{what.replace('_', ' ')} {value} has more than two decimals")
    if not re.fullmatch("[A-Z]{3}", values["currency"]):
        raise InputError(f"{values['currency']!r} is no currency; write it like GBP, USD, EUR")
    for what in ("code", "short_code"):
        if values[what] and not CODE.fullmatch(values[what]):
            raise InputError(f"the code {values[what]!r} is not of letters, digits and - alone")
    if not values["code"] and not PROVIDERS[values["provider"]].own_codes:
        raise InputError("this market gives the completion code; name it with --code")
    if values["code"] and values["code"] == values["short_code"]:
        raise InputError("the code for all of the work and the one for a part must differ")


def find_study(token: str) -> Study | None:
    """Return the study of a link; None for every other text."""
    digest = _digest(token)
    study = Study.objects.filter(digest=digest).first()
    return study if study and hmac.compare_digest(study.digest, digest) else None


def study_named(name: str) -> Study:
    """Return a study by its name.

    Raises:
        InputError: there is none.
    """
    study = Study.objects.filter(name=name).first()
    if study is None:
        raise InputError(
            f"there is no study {name!r}; see them with: winosmith admin study DIR list"
        )
    return study


def new_link(study: Study) -> str:
    """Return the secret part of a new link; the one before works no more."""
    token = secrets.token_urlsafe(TOKEN)
    with writing():
        Study.objects.filter(pk=study.pk).update(digest=_digest(token))
    return token


def give_places(study: Study, places: int) -> None:
    """Let a study have more or fewer places; nobody who began it is sent away.

    Raises:
        InputError: the number is none of places.
    """
    _check_places(places)
    with writing():
        study.places = places
        study.save(update_fields=["places"])


def _check_places(places: int) -> None:
    if not 1 <= places <= MOST_PLACES:
        raise InputError(f"a study has 1 to {MOST_PLACES:,} places; not {places:,}")


def close_study(study: Study) -> None:
    """Let nobody new come; who is at work may finish.

    Raises:
        InputError: it is closed.
    """
    with writing():
        if not Study.objects.filter(pk=study.pk, closed=None).update(closed=timezone.now()):
            raise InputError(f"the study {study.name!r} is closed already")


def _digest(token: str) -> str:
    return sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
