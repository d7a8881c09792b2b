"""A site with a pool: practice twins with crowd-like artifacts, and judges' votes.

`fill` runs in a test's process, or by `Served.do(FILL)` in a process next to a server.
"""

from typing import Any

FILL = """
from tests.web.rounds.making import fill
from winosmith.web._lock import writing
with writing():
    result = fill({twins})
"""

SMALL = {
    "embed": {"dimensions": 16},
    "filter": {"ensemble_size": 16, "threshold": 0.7, "again": False},
    "measure": {"splits": 2},
    "split": {"dev": 0.2, "test": 0.2},
    "roots": 4,
}
"""A recipe of a round that takes seconds."""


def carried_out(round_: Any) -> None:
    """Run a round as the worker does."""
    from tests.web.working import work_off
    from winosmith.web.rounds.running import queue_round

    queue_round(round_)
    work_off()


def fill(twins: int, *, votes: bool = True) -> list[str]:
    """Create public twins by "wren", with three votes each; return the problems' ids."""
    from winosmith import practice
    from winosmith.web.people.models import Person
    from winosmith.web.problems.models import Problem, State, Twin
    from winosmith.web.problems.records import map_to_twin

    made = practice.generate_corpus(twins, seed=3, strength=0.6)
    wren = Person.objects.filter(name="wren").first() or Person.objects.create_user("wren", "x")
    refs = dict.fromkeys(str(problem.twin_id) for problem in made.dataset)
    of = {problem.twin_id: problem for problem in made.dataset}
    Twin.objects.bulk_create(
        Twin(ref=ref, contributor=wren, **{**map_to_twin(of[ref]), "source": "crowd"})
        for ref in refs
    )
    keys = dict(Twin.objects.filter(ref__in=refs).values_list("ref", "pk"))
    Problem.objects.bulk_create(
        Problem(twin_id=keys[str(one.twin_id)], state=State.VALID, **_fields(one))
        for one in made.dataset
    )
    if votes:
        _vote(wren, list(made.dataset.ids))
    return list(made.dataset.ids)


def _fields(problem: Any) -> dict[str, Any]:
    """Return a row's columns without an origin, as if it had been written on the site."""
    from winosmith.web.problems.records import map_to_problem

    fields = map_to_problem(problem)
    fields["record"] = {k: v for k, v in fields["record"].items() if k != "origin"}
    return fields


def _vote(wren: Any, refs: list[str]) -> None:
    """Let three judges answer each problem correctly, except one judge on every ninth."""
    from django.utils import timezone

    from winosmith.web.judge.models import Slot
    from winosmith.web.people.models import Person
    from winosmith.web.problems.models import Problem

    judges = [
        Person.objects.create(name=f"judge-{n}", is_judge=True, password="!") for n in range(3)
    ]
    Slot.objects.bulk_create(
        Slot(
            problem=row,
            twin_id=row.twin_id,
            contributor=wren,
            n=n + 1,
            place=row.pk,
            open=False,
            holder=judge,
            taken_at=timezone.now(),
            shown=[0, 1],
            answered_at=timezone.now(),
            choice=1 - row.answer if not n and row.pk % 9 == 0 else row.answer,
        )
        for row in Problem.objects.filter(ref__in=refs)
        for n, judge in enumerate(judges)
    )
