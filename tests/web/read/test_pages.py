"""The pages for everyone: home, browse, a problem, guidelines, the data card."""

from __future__ import annotations

from typing import Any

import pytest

from winosmith.web.judge.models import Verdict


@pytest.mark.parametrize(
    "path", ["/", "/problems/", "/download/", "/guidelines/", "/card/", "/card/data-card.md"]
)
@pytest.mark.parametrize("filled", [False, True])
def test_every_page_is_there(db: Any, visit: Any, twin: Any, path: str, filled: bool) -> None:
    """Each public page answers on an empty site and on one with data, to anybody."""
    if filled:
        twin()
    assert visit().get(path).status_code == 200


def test_the_first_page_shows_what_people_agreed_on_most(
    db: Any, visit: Any, twin: Any, forgotten: None
) -> None:
    """The twin with most votes, all alike, is shown; never the newest, nor one nobody judged."""

    def told() -> str:
        return str(visit().get("/").content.decode())

    kinds = {"lamp": ("3", "3"), "harp": ("10", "7"), "kite": ("2,1", "9"), "desk": ()}
    for word, counts in kinds.items():
        for half, chosen in zip(twin(word), counts, strict=False):
            Verdict.objects.create(problem=half, counts=chosen, valid=True)
    page = told()
    assert page.count('<p class="sentence"') == 2
    assert "harp" in page
    assert not any(word in page for word in ("lamp", "kite", "desk"))
    Verdict.objects.all().delete()
    assert '<p class="sentence"' not in told()
