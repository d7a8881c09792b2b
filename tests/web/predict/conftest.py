"""A site with two models that are known by their names alone."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from winosmith.solver_rule import SolverRule

RULES = (SolverRule("zeta", "random"), SolverRule("alpha", "majority"))


@pytest.fixture
def models(db: Any) -> Iterator[Any]:
    """Return the site with two models, and nothing else."""
    from django.test import override_settings

    from winosmith.web.predict.asking import set_current_models

    with override_settings(RULES=replace(db.rules, models=RULES)):
        set_current_models(RULES)
        yield db
