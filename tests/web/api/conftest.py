"""Fixtures of the API's tests."""

from typing import Any

import pytest


@pytest.fixture(scope="module")
def stood(stood: Any) -> Any:
    """Return the small site with its models."""
    from django.conf import settings

    from winosmith.web.predict.asking import set_current_models

    set_current_models(settings.RULES.models)
    return stood
