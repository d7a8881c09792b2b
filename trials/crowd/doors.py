"""Try all data of the database and Django's admin as credentials."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from .scenario import open_site

LOOKS = {
    "a": "аɑαａ𝐚", "c": "сᴄⅽ", "d": "ԁⅾ", "e": "еҽ", "h": "һհ", "i": "іıⅰ1lΙ", "j": "јϳ",
    "l": "ӏ1iIⅼ", "n": "ոｎ", "o": "оοօ0", "p": "рρ", "q": "ԛ", "s": "ѕꜱ", "u": "υս",
    "v": "νѵⅴ", "w": "ԝ", "x": "хⅹ", "y": "уγ",
}  # fmt: skip
"""Letters and their look-alikes, from lists of deceptive domain names, because the trial must not
use the site's own list."""

PASSWORD = "twins-and-cups"  # noqa: S105 - of people who are made up


@dataclass
class DoorSettings:
    """Settings for the attacks.

    Attributes:
        people: number of people, each with two log-ins and a link for a new password.
        names: number of existing names that impostors imitate.
        fault: one of `careless.FAULTS`.
        only: the only attack to try; empty for all.
    """

    people: int = 100
    names: tuple[str, ...] = ("ann", "paul", "olivia", "choices")
    fault: str = ""
    only: str = ""


def try_doors(folder: Path, database: str | None, how: DoorSettings) -> dict[str, tuple[int, int]]:
    """Run all attacks in this process; return the numbers of attempts and successes of each."""
    open_site(folder, database)
    from django.contrib.auth.hashers import make_password

    from winosmith.web._lock import writing
    from winosmith.web.people.models import Person

    from . import careless, inside

    if how.fault:
        careless.FAULTS[how.fault]()
    keys = [one.key for one in inside.make_people("owner", how.people)]
    with writing():
        Person.objects.update(password=make_password(PASSWORD))
    owners = [(person, _list_credentials(person)) for person in Person.objects.filter(pk__in=keys)]
    (admin,) = inside.make_people("admin", 1, is_superuser=True)[0].cookies.values()
    held = [text for _, texts in owners for text in texts]
    attacks: dict[str, Callable[[], tuple[int, int]]] = {
        "their owners (each must get in)": lambda: _try_texts(held),
        "a reader of the whole database": lambda: _try_texts(_list_stored_keys()),
        "a reader of Django's admin": lambda: _try_texts(_list_displayed_keys(admin)),
        "who look like somebody": lambda: _named(how.names),
        "with a password like their name": lambda: _like_their_name(how.names),
    }
    for start, way in enumerate(("change", "reset", "everywhere")):
        attacks[f"what opened an account before: {way}"] = partial(
            _revoke_access, way, owners[start::3]
        )
    return {what: attack() for what, attack in attacks.items() if how.only in ("", what)}


def _list_credentials(person: Any) -> list[str]:
    """Return a person's credentials: two sessions, a link."""
    from winosmith.web.people.accounts import create_reset_link

    from . import inside

    cookies = [value for _ in range(2) for value in inside._session(person).values()]
    return [*cookies, create_reset_link(person, 60).split("/")[-2]]


def _browser(cookie: str = "") -> Any:
    """Return a browser with a session cookie."""
    from django.conf import settings
    from django.test import Client

    browser = Client(SERVER_NAME="localhost")
    browser.cookies[settings.SESSION_COOKIE_NAME] = cookie
    return browser


def _gives_access(text: str) -> bool:
    """Return whether a text gives access as a session cookie or a link."""
    answers = (_browser(text).get("/people/"), _browser().get(f"/people/join/{text}/"))
    return any(answer.status_code == 200 for answer in answers)


def _try_texts(texts: Iterable[str]) -> tuple[int, int]:
    opening = [_gives_access(text) for text in texts]
    return len(opening), sum(opening)


def _find_possible_keys(text: str) -> set[str]:
    """Return possible keys in a text: runs of 16 characters or more."""
    return set(re.findall(r"[\w-]{16,200}", text))


def _list_stored_keys() -> set[str]:
    """Return all possible keys in the database's tables."""
    from django.apps import apps

    tables = (model._base_manager.values_list() for model in apps.get_models())
    return {word for rows in tables for row in rows for word in _find_possible_keys(str(row))}


def _list_displayed_keys(admin: str) -> set[str]:
    """Return all possible keys in Django's admin: the lists, and the first rows of each."""
    from django.contrib.admin import site

    browser = _browser(admin)
    words: set[str] = set()
    for model in site._registry:
        path = f"/admin/tables/{model._meta.app_label}/{model._meta.model_name}/"
        keys = list(model._base_manager.values_list("pk", flat=True)[:20])
        for page in (path, *(f"{path}{key}/change/" for key in keys)):
            words |= _find_possible_keys(browser.get(page).content.decode())
    return words


def _iter_imitations(name: str) -> Iterator[str]:
    """Yield lookalike names, with one letter or all possible letters replaced."""
    for place, letter in enumerate(name):
        for other in LOOKS.get(letter, ""):
            yield name[:place] + other + name[place + 1 :]
    yield "".join(LOOKS.get(letter, letter)[0] for letter in name)


def _signs_up(name: str, password: str) -> bool:
    from django.core.exceptions import ValidationError

    from winosmith.errors import InputError
    from winosmith.web.people.accounts import sign_up

    try:
        sign_up(name, password)
    except (InputError, ValidationError):
        return False
    return True


def _named(names: tuple[str, ...]) -> tuple[int, int]:
    taken = [name for name in names if _signs_up(name, PASSWORD)]
    tried = [_signs_up(other, PASSWORD) for name in taken for other in _iter_imitations(name)]
    return len(tried), sum(tried)


def _like_their_name(names: tuple[str, ...]) -> tuple[int, int]:
    made = [f"{name}-of-the-hill" for name in names]
    pairs = [(n, p) for n in made for p in (n, n.upper(), f"{n}1", n.replace("-", "") + "!")]
    tried = [_signs_up(name, password) for name, password in pairs]
    return len(tried), sum(tried)


def _revoke_access(way: str, owners: list[tuple[Any, list[str]]]) -> tuple[int, int]:
    """Revoke some people's access through a page, and try their old credentials."""
    for _, (cookie, *_others, link) in owners:
        browser = _browser("" if way == "reset" else cookie)
        new = {"password": "jugs-and-shelves", "again": "jugs-and-shelves", "old": PASSWORD}
        if way == "reset":
            browser.post(f"/people/join/{link}/", new)
        else:
            path = "/people/password/" if way == "change" else "/people/logout/"
            browser.post(path, {**new, "everywhere": "yes"})
    return _try_texts(text for _, texts in owners for text in texts)
