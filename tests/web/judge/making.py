"""Helpers that make twins in judging, and judges who answer them."""

import itertools
from typing import Any

from tests.web.making import single

_numbers = itertools.count(1)


def twin(contributor: Any = None, *, halves: int = 2, opened: bool = True, **fields: Any) -> Any:
    """Make a twin whose halves are being judged; return the halves in order."""
    from winosmith.web.judge.votes import open_slots
    from winosmith.web.problems.models import Twin

    number = next(_numbers)
    row = Twin.objects.create(ref=f"t{number}", contributor=contributor)
    made = []
    for at in range(halves):
        end = ("broke", "held")[at % 2]
        text = f"After the cup had hit jug number {number} on the shelf, the _ {end}."
        fixed = {"twin": row, "answer": at % 2, "state": "judging"}
        made.append(single(f"q{number}x{at}", text, **fixed, **fields))
        if opened:
            open_slots(made[at])
    return made


def singles(count: int) -> list[Any]:
    """Make `count` twins with one half each, in judging; return the halves."""
    return [twin(halves=1)[0] for _ in range(count)]


def give(person: Any, choice: int | None = None, **marks: Any) -> Any:
    """Lease a person's next problem and answer it, correctly unless `choice` is given."""
    from winosmith.web.judge.turns import lease_next_problem

    slot = lease_next_problem(person)
    assert slot is not None
    return reply(slot, choice, **marks)


def reply(slot: Any, choice: int | None = None, *, seconds: float = 0, **marks: Any) -> Any:
    """Answer a slot as its holder after `seconds`, correctly unless `choice` is given."""
    from winosmith.web.judge.turns import needs_local_answer, store_answer, store_local_answer

    right = slot.problem.answer if choice is None else choice
    if needs_local_answer(slot):
        store_local_answer(slot.holder, slot.ref, marks.pop("local", 1 - slot.problem.answer))
    if seconds:
        passes(slot.holder, seconds)
    return store_answer(slot.holder, slot.ref, right, **marks)


def gold(count: int) -> list[Any]:
    """Make gold questions, and a problem in judging, without which no gold would be given."""
    from winosmith.web.judge.trust import add_gold

    twin(halves=1)
    made = [twin(halves=1, opened=False)[0] for _ in range(count)]
    for problem in made:
        add_gold(problem, "A jug is heavier than a cup.")
    return made


def passes(person: Any, seconds: float) -> None:
    """Move everything that a judge did `seconds` into the past."""
    from datetime import timedelta

    from django.db.models import F

    from winosmith.web.judge.models import Judge, Slot

    ago = timedelta(seconds=seconds)
    for name in ("taken_at", "local_at", "answered_at"):
        rows = Slot.objects.filter(holder=person, **{f"{name}__isnull": False})
        rows.update(**{name: F(name) - ago})
    Judge.objects.filter(person=person, since__isnull=False).update(since=F("since") - ago)


def give_in(person: Any, seconds: float, choice: int | None = None, address: str = "") -> Any:
    """Lease a person's next problem and answer it after `seconds`."""
    return give(person, choice, seconds=seconds, address=address)
