"""The server: how it starts, answers, refuses and ends; in real processes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Start = Callable[..., Any]


def _serve(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "winosmith", "serve", str(folder), *options],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize(
    "database", ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)]
)
def test_a_site_is_served(served: Start, database: str) -> None:
    """The server says where the data are, lets the first admin in once, and answers."""
    site = served(database=database, title="Cups & jugs")
    where = site.folder / "site.sqlite3" if database == "sqlite" else "postgresql://127.0.0.1"
    assert f"Database    {where}" in site.printed
    assert site.admin_link.startswith(site.url)
    answer = site.get("/")
    assert answer.status == 200
    assert "Cups &amp; jugs" in answer.text
    health = site.get("/healthz")
    assert (health.status, health.body) == (200, b"ok\n")
    assert health.headers["Cache-Control"] == "no-store"


def test_only_while_nobody_is_admin_is_one_let_in(served: Start) -> None:
    """Each start without an admin prints one link and ends the earlier ones; with one, none."""
    site = served()
    first = site.admin_link
    assert site.stop() == 0
    site.start()
    assert site.admin_link != first
    usable = "from winosmith.web.people.models import Invitation; "
    usable += "result = Invitation.objects.filter(used=None).count()"
    assert site.do(usable) == 1
    site.people(adam="admin")
    site.stop()
    site.start()
    assert "First admin" not in site.printed
