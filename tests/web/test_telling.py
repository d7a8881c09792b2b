"""A real server serves gold like other problems: references, bytes, headers and steps."""

import importlib.util
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import absent

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def noted() -> Iterator[Any]:
    """Return a judge's client records of 40 gold questions and 40 other problems."""
    if importlib.util.find_spec("django") is None:
        absent("django is not installed")
    trials = str(Path(__file__).parents[2] / "trials")
    sys.path.insert(0, trials)
    try:
        from crowd.gold import EVERY, fill, judge_and_record
        from crowd.scenario import make_place, run_in_process
        from crowd.server import Server

        with make_place("sqlite") as where:
            judges = run_in_process(fill, where.folder, where.database, 60)
            server = Server(where.folder, rules={"gold_every": EVERY}).start()
            try:
                yield judge_and_record(server.url, judges, 40)
            finally:
                server.kill()
    finally:
        sys.path.remove(trials)
        for name in [name for name in sys.modules if name.partition(".")[0] == "crowd"]:
            del sys.modules[name]


def test_references_are_unique_and_of_one_format(noted: Any) -> None:
    refs = [one.seen["reference"] for one in noted]
    assert [ref for ref in refs if not re.fullmatch("[0-9a-f]{16}", ref)] == []
    assert len(set(refs)) == len(refs)


def test_bytes_headers_and_steps_are_the_same_for_gold(noted: Any) -> None:
    found: dict[bool, set[Any]] = {True: set(), False: set()}
    for one in noted:
        first = one.seen["problems since the last gold"] == 0
        exact = [name for name in one.seen if name[:5] in ("steps", "bytes", "heade")]
        exact.remove("bytes, what I judged")  # a row more for each problem, gold or not
        found[one.gold].add((first, *((name, one.seen[name]) for name in exact)))
    assert found[True] == found[False]
