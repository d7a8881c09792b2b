"""A site with two registered models that have no processes."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from winosmith.solver_rule import SolverRule

RULES = (SolverRule("zeta", "random"), SolverRule("alpha", "majority"))


@pytest.fixture
def models(db: Any) -> Iterator[Any]:
    """Yield a site with two models."""
    from django.test import override_settings

    from winosmith.web.predict.asking import set_current_models

    with override_settings(RULES=replace(db.rules, models=RULES)):
        set_current_models(RULES)
        yield db
