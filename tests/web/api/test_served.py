"""The client of the documentation, against a real server."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[3] / "docs/how-to/api.md"

MADE = """
from winosmith.web._lock import writing
from winosmith.web.api.models import make
from winosmith.web.people.models import Person
from winosmith.web.problems.models import Problem, Twin
ann = Person.objects.get(name="ann")
result = make(ann, "a client", ["read", "write"])[1]
with writing():
    for n in range(23):
        Problem.objects.create(
            ref=f"public-{n}", twin=Twin.objects.create(ref=f"twin-{n}"), options=["cup", "jug"],
            answer=0, state="valid", sentence=f"The cup number {n} hit the jug since the _ fell.",
        )
"""


def test_the_client_of_the_documentation_works(served: Any, tmp_path: Path) -> None:
    """It sends a twin and walks over all pages; the server keeps its token nowhere."""
    found = re.search(r"```py\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert found
    site = served()
    site.people("ann")
    token = site.do(MADE)
    done = subprocess.run(
        [sys.executable, "-c", found[1]],
        env={**os.environ, "TWINS_SITE": site.url, "TWINS_TOKEN": token},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "sent: ['judging', 'judging']\npublic problems: 23\n"
    refused = site.get("/api/v1/me", Authorization=f"Bearer {token[::-1]}")
    assert (refused.status, refused.headers["Content-Type"]) == (401, "application/problem+json")
    assert refused.headers.get("Set-Cookie") is None
    assert site.stop() == 0
    assert token not in site.log()
    for path in site.folder.rglob("*"):
        assert not path.is_file() or token.encode() not in path.read_bytes(), path


def test_the_api_is_loaded_at_the_start_where_somebody_has_a_token(served: Any) -> None:
    """A site whose API is used has it ready for the first call; another one pays nothing."""
    loaded = (
        "import sys; from winosmith.web.hosting import load_all; load_all(); "
        "result = 'winosmith.web.api.app' in sys.modules"
    )
    site = served()
    site.people("ann")
    assert not site.do(loaded)
    site.do(MADE)
    assert site.do(loaded)
