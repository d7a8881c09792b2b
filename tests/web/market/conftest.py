"""The site's rules, changed for a test."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest


@pytest.fixture
def rules() -> Any:
    """Return a setter of the site's rules: one judge a problem, no gold, no local context."""
    from django.conf import settings
    from django.test import override_settings

    changed = []

    def change(**changes: Any) -> None:
        usual = {"gold_every": 0, "judges": 1, "local_first": False}
        made = override_settings(
            RULES=replace(settings.RULES, **{**usual, **changes}),
            PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],  # quick
        )
        made.enable()
        changed.append(made)

    change()
    yield change
    for made in reversed(changed):
        made.disable()
