"""The number of write transactions of a log-in; each waits for the disk and for others."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.web.conftest import BOTH, PASSWORD
from winosmith.web.people.models import Hits, Session

WRITES = ("INSERT", "UPDATE", "DELETE")


def count_write_transactions(queries: Any) -> int:
    """Count the committed transactions with a write, and the writes outside of transactions."""
    count, inside, writes = 0, False, False
    for query in queries:
        word = query["sql"].split(maxsplit=1)[0].upper()
        if word == "BEGIN":
            inside, writes = True, False
        elif word == "COMMIT":
            inside, count = False, count + writes
        elif word in WRITES:
            writes, count = True, count + (not inside)
    return count


@BOTH
@pytest.mark.parametrize(("password", "most"), [(PASSWORD, 2), ("wrong", 1)])
def test_log_in_takes_two_write_transactions(
    database: Any, ann: Any, visit: Any, password: str, most: int
) -> None:
    """One counts the attempt, one starts the session. A wrong password takes only the first."""
    with CaptureQueriesContext(connection) as queries:
        answer = visit().post("/people/login/", {"name": "ann", "password": password})
    assert count_write_transactions(queries) == most
    inside = password == PASSWORD
    assert answer.status_code == (302 if inside else 422)
    assert Session.objects.count() == inside
    assert sum(Hits.objects.values_list("count", flat=True)) == (0 if inside else 3)


def test_session_changed_after_saving_is_saved_again(db: Any, ann: Any, visit: Any) -> None:
    browser = visit(ann)
    session = browser.session
    session["later"] = 1
    session.save()
    session["later"] = 2
    session.save()
    assert browser.session["later"] == 2
