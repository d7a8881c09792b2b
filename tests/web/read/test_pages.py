"""The pages for everyone: home, browse, a problem, guidelines, the data card."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


@pytest.mark.parametrize(
    "path", ["/", "/problems/", "/download/", "/guidelines/", "/card/", "/card/data-card.md"]
)
@pytest.mark.parametrize("filled", [False, True])
def test_every_page_is_there(
    db: Any, visit: Callable[..., Any], twin: Callable[..., Any], path: str, filled: bool
) -> None:
    """Each public page answers on an empty site and on one with data, to anybody."""
    if filled:
        twin()
    assert visit().get(path).status_code == 200
