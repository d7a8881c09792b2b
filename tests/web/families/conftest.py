"""Fixtures of the tests of families."""

import pytest


@pytest.fixture(autouse=True)
def counted_at_each_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """Recompute lists on each request, however slow this machine is."""
    from winosmith.web import _cache
    from winosmith.web.families import lists, trees

    monkeypatch.setattr(_cache, "QUICK_SECONDS", 3600.0)
    lists._FAMILIES.clear()
    trees._build_tree.cache_clear()  # ids of rolled-back rows are used again
