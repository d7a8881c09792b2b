"""Visits and routes of human tests for the tests of every page, with a round in each state."""

from collections.abc import Callable
from typing import Any

from tests.web.forms import KEY, form, none, ref

IN_A_TEST = """
from winosmith.web.people.models import Person
from winosmith.web.take.sheets import assign_sheet
from winosmith.web.take.models import Round
assign_sheet(Person.objects.get(name="the-moderator"), Round.objects.get(name="open"))
"""

VISITS: tuple[tuple[str, str, tuple[Any, ...], dict[str, Any]], ...] = (
    ("visitor", "take:start", (), {}),
    ("other", "take:start", (), {}),
    ("moderator", "take:start", (), {}),
    ("visitor", "take:about", ("open",), {}),
    ("judge", "take:about", ("open",), {}),
    ("judge", "take:about", ("open",), {"form": {"key": KEY.format(901)}, "status": 422}),
    ("judge", "take:about", ("closed",), {}),
    ("other", "take:about", ("open",), {}),
    ("visitor", "take:about", ("nothing",), {"status": 404}),
    ("other", "take:sheet", ("{sheet}",), {}),
    ("other", "take:question", ("{sheet}", 1), {}),
    ("other", "take:question", ("{sheet}", 2),
     {"form": {"key": KEY.format(902), "letter": "E"}, "status": 422}),
    ("other", "take:question", ("{sheet}", 2),
     {"form": {"key": KEY.format(903), "letter": "A", "word": "mow"}}),
    ("other", "take:end", ("{sheet}",), {}),
    ("other", "take:end", ("{sheet}",),
     {"form": {"key": KEY.format(904), "do": "note word", "number": "99"}, "status": 422}),
    ("other", "take:give_up", ("{sheet}",), {}),
    ("owner", "take:sheet", ("{done}",), {}),
    ("owner", "take:question", ("{done}", 1),
     {"form": {"key": KEY.format(905), "letter": "A"}, "status": 409}),
    ("moderator", "take:progress", (), {}),
    ("moderator", "take:round", ("open",), {}),
    ("moderator", "take:round", ("closed",), {}),
    ("moderator", "take:round", ("empty",), {}),
    ("moderator", "take:count", ("closed",),
     {"form": {"key": KEY.format(907), "sheet": "none"}, "status": 409}),
    ("other", "take:give_up", ("{sheet}",), {"form": {"key": KEY.format(906)}}),
    ("other", "take:about", ("open",), {}),
    ("moderator", "judge:turn", (), {"before": IN_A_TEST}),
)  # fmt: skip
"""Role, route, arguments, and other fields of a `visits.Visit`."""


ROUTES: list[tuple[str, str, tuple[Any, ...], Callable[[Any], dict[str, Any]], str]] = [
    ("take:start", "get", (), none, "ooooooo"),
    ("take:about", "get", ("open",), none, "ooooooo"),
    ("take:about", "post", ("open",), form(agree="yes"), "llDDDDD"),
    ("take:sheet", "get", (ref("sheet"),), none, "llnonnn"),
    ("take:question", "get", (ref("sheet"), 1), none, "llnonnn"),
    ("take:question", "post", (ref("sheet"), 1), form(letter="A"), "llnDnnn"),
    ("take:end", "get", (ref("sheet"),), none, "llnonnn"),
    ("take:end", "post", (ref("sheet"),), form(do="finish"), "llnDnnn"),
    ("take:give_up", "get", (ref("sheet"),), none, "llnonnn"),
    ("take:give_up", "post", (ref("sheet"),), form(), "llnDnnn"),
    ("take:progress", "get", (), none, "llfffoo"),
    ("take:round", "get", ("closed",), none, "llfffoo"),
    ("take:count", "post", ("closed",), form(sheet="none"), "llfffxx"),
]
"""Rows of the authorisation table; see `test_authorisation`."""


def staged(people: dict[str, Any]) -> dict[str, str]:
    """Create an open round with a sheet in progress, a closed one, and one without subjects."""
    from tests.web.take.conftest import fill, twins
    from winosmith.web.jobs import Job, run_next_job
    from winosmith.web.take.rounds import close_round, open_round
    from winosmith.web.take.sheets import assign_sheet

    opened, _ = open_round(twins(6), "open")
    closed, _ = open_round(twins(6, start=20), "closed", orders=2)
    empty, _ = open_round(twins(5, start=40), "empty", title="Texts that nobody has read yet")
    done = assign_sheet(people["owner"], closed, native=True)
    fill(people["owner"], done)
    second = assign_sheet(people["admin"], closed, native=False)
    fill(people["admin"], second, seed=1)
    for round_ in (closed, empty):  # a worker can't see the rows of this transaction
        close_round(round_.name)
        assert run_next_job([Job.Kind.TEST_CLOSE])
    sheet = assign_sheet(people["other"], opened, native=True)
    return {"sheet": sheet.ref, "done": done.ref}
