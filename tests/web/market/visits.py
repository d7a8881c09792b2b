"""Visits and routes of the pages of studies, with a worker in each state."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from tests.web.forms import KEY, form, none, ref


def _ids(n: int) -> str:
    return f"PROLIFIC_PID={n:024x}&SESSION_ID={1000 + n:024x}"


VISITS: tuple[tuple[str, str, tuple[Any, ...], dict[str, Any]], ...] = (
    ("visitor", "market:work", (), {}),
    ("visitor", "market:enter", ("{study}",), {"query": "PROLIFIC_PID=x"}),
    ("visitor", "market:enter", ("{study}",), {"query": _ids(90)}),
    ("visitor", "market:enter", ("{study}",), {"query": _ids(1), "status": 409}),
    ("visitor", "market:enter", ("nothing",), {"status": 404}),
    ("visitor", "market:enter", ("{writing}",), {"query": _ids(90)}),
    ("other", "market:enter", ("{study}",), {"query": _ids(91)}),
    ("worker", "market:work", (), {}),
    ("worker", "judge:turn", (), {}),
    ("worker", "write:start", (), {}),
    ("worker", "people:me", (), {}),
    ("worker", "people:erase", (), {}),
    ("worker", "market:finish", (), {"form": {"key": KEY.format(1001)}, "status": 409}),
    ("writer", "market:work", (), {}),
    ("complete worker", "market:work", (), {}),
    ("short worker", "market:work", (), {}),
    ("unpaid worker", "market:work", (), {}),
    ("returned worker", "market:work", (), {}),
    ("worker", "market:leave", (), {"form": {"key": KEY.format(1002)}}),
    ("admin", "market:ledger", ("judging",), {}),
    ("admin", "market:ledger", ("writing",), {}),
)  # fmt: skip
"""Role, route, arguments, and further arguments of `visits.Visit`."""

NO_PAGE = {
    "market:welcome": "where market:enter leads",
    "market:table": "a file",
    "market:bonuses": "a file",
}


ROUTES: list[tuple[str, str, tuple[Any, ...], Callable[[Any], dict[str, Any]], str]] = [
    ("market:work", "get", (), none, "ooooooo"),
    ("market:welcome", "get", (), none, "ddddddd"),
    ("market:welcome", "post", (), none, "ddddddd"),
    ("market:finish", "get", (), none, "mmmmmmm"),
    ("market:finish", "post", (), form(), "ddddddd"),
    ("market:leave", "get", (), none, "mmmmmmm"),
    ("market:leave", "post", (), form(), "ddddddd"),
    ("market:enter", "get", (ref("study"),), none, "ddddddd"),
    ("market:ledger", "get", ("judging",), none, "llffffo"),
    ("market:table", "get", ("judging",), none, "llffffo"),
    ("market:bonuses", "get", ("judging",), none, "llffffo"),
]
"""Rows of the table of permissions; see `test_authorisation`."""


def staged() -> dict[str, str]:
    """Make a study of each kind, and a worker in each state; return sessions and links."""
    from tests.web.world import session_of
    from winosmith.web.market.models import Participation
    from winosmith.web.market.studies import create_study
    from winosmith.web.market.workers import Arrival, start_participation
    from winosmith.web.people.privacy import save_agreement

    usual: dict[str, Any] = {"reward": Decimal("2.50"), "currency": "GBP", "minutes": 12,
                             "places": 50,
                             "least_wage": Decimal(20), "code": "DONE1"}  # fmt: skip
    judging, study = create_study(
        "judging", "prolific", "judge", 2, short_code="PART1", short_reward=Decimal(1), **usual
    )
    write, writing = create_study("writing", "prolific", "write", 3, **usual)
    refs = {"study": study, "writing": writing}

    def worker(role: str, made: Any, n: int, **fields: Any) -> None:
        arrival = Arrival(made.pk, f"{n:024x}", f"{1000 + n:024x}", role)
        part = start_participation(made, arrival)
        save_agreement(part.person)
        Participation.objects.filter(pk=part.pk).update(**fields)
        refs[f"session of {role}"] = session_of(part.person)

    ended: dict[str, Any] = {"seconds": 700}
    paid = {"verdict": "approved", "paid": Decimal("2.50")}
    worker("worker", judging, 1)
    worker("writer", write, 2)
    worker("complete worker", judging, 3, state="complete", **paid, **ended)
    worker("short worker", judging, 4, state="short", **ended)
    worker("unpaid worker", write, 5, state="short", **ended)
    worker("returned worker", judging, 6, state="left", verdict="returned", **ended)
    return refs
