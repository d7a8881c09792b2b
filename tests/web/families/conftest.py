"""Families to look at: versions in any state, with what models made of them."""

import pytest


@pytest.fixture(autouse=True)
def counted_at_each_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """Count lists and boards anew at each look, however slow this machine is."""
    from winosmith.web import _cache
    from winosmith.web.families import lists, trees

    monkeypatch.setattr(_cache, "QUICK_SECONDS", 3600.0)
    lists._ENTRIES.clear()
    lists._FAMILIES.clear()
    trees._build_tree.cache_clear()  # rows that were rolled back leave their ids to others
