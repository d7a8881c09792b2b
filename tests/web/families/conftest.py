"""Families to look at: versions in any state, with what models made of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.web import growing


@pytest.fixture(autouse=True)
def counted_at_each_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """Count lists and boards anew at each look, however slow this machine is."""
    from winosmith.web import _kept
    from winosmith.web.families import lists, trees

    monkeypatch.setattr(_kept, "QUICK_SECONDS", 3600.0)
    lists._ENTRIES.clear()
    lists._FAMILIES.clear()
    trees._build_tree.cache_clear()  # rows that were rolled back leave their ids to others


@pytest.fixture
def model() -> Callable[..., Any]:
    """Return a maker of models: `model("alpha")`."""
    return growing.made_model


@pytest.fixture
def version() -> Callable[..., Any]:
    """Return a maker of versions: `version(None, "The cup …")` is a root, others have a parent."""
    return growing.made_version


@pytest.fixture
def says() -> Callable[..., Any]:
    """Return a maker of predictions: `says(model, problem, right=False)`."""
    return growing.said


@pytest.fixture
def family() -> Callable[..., dict[str, Any]]:
    """Return a maker of one family, told right and wrong by each model that is given."""
    return growing.grown
