"""Embargoes of problems, which cover the versions below them."""

from typing import Any

import pytest

from tests.web.lineaged import child, root
from winosmith.errors import InputError
from winosmith.web._lock import writing
from winosmith.web.moderate.decisions import ACTIONS, decide, get_newest_events, undo
from winosmith.web.problems.family import lift_embargo, set_embargo


def _get_flags(*problems: Any) -> list[tuple[bool, bool]]:
    """Return for each problem whether it is embargoed, and whether only by inheritance."""
    for problem in problems:
        problem.refresh_from_db()
        problem.version.refresh_from_db()
    return [(problem.embargo, problem.version.covered) for problem in problems]


def _decide(moderator: Any, problem: Any, action: str) -> Any:
    seen = get_newest_events([problem]).get(problem.pk, 0)
    return decide(moderator, ACTIONS[action], problem, reason="so", seen=seen, batch="b1")


OPEN, OWN, COVERED = (False, False), (True, False), (True, True)


def test_embargo_covers_all_versions_below(db: Any, person: Any) -> None:
    """When it is lifted, versions with an embargo of their own keep it."""
    mod = person("mod", is_moderator=True)
    top = root()
    middle = child(top, new=("fit", "belong"))
    last, beside = child(middle), child(top)
    under = child(last, new=("large", "huge"))
    _decide(mod, last, "embargo")
    assert _get_flags(top, middle, last, under, beside) == [OPEN, OPEN, OWN, COVERED, OPEN]
    _decide(mod, top, "embargo")
    assert _get_flags(top, middle, last, under, beside) == [OWN, COVERED, OWN, COVERED, COVERED]
    assert middle.events.filter(kind="cover", actor=mod).exists()
    _decide(mod, top, "lift")
    assert _get_flags(top, middle, last, under, beside) == [OPEN, OPEN, OWN, COVERED, OPEN]
    _decide(mod, last, "lift")
    assert _get_flags(last, under) == [OPEN, OPEN]


def test_inherited_embargo_cannot_be_lifted(db: Any, person: Any) -> None:
    """Lifting an additional embargo of the version itself leaves the inherited one."""
    mod = person("mod", is_moderator=True)
    top = root()
    made = child(top)
    _decide(mod, top, "embargo")
    with pytest.raises(InputError, match="the problem that it was perturbed from is under embargo"):
        _decide(mod, made, "lift")
    event = _decide(mod, made, "embargo")
    assert _get_flags(made) == [OWN]
    undo(mod, event, reason="a slip", batch="b2")
    assert _get_flags(made) == [COVERED]
    _decide(mod, made, "embargo")
    _decide(mod, made, "lift")
    assert _get_flags(made) == [COVERED]
    _decide(mod, top, "lift")
    assert _get_flags(top, made) == [OPEN, OPEN]


def test_new_versions_inherit_the_embargo_of_their_parent(db: Any) -> None:
    top = root()
    with writing():
        set_embargo(top)
    made = child(top)
    under = child(made, new=("fit", "belong"))
    child_of_own = child(top, new=("fit", "sit"), embargo=True)
    assert _get_flags(made, under, child_of_own) == [COVERED, COVERED, OWN]
    with writing():
        assert lift_embargo(top) == 2
    assert _get_flags(made, under, child_of_own) == [OPEN, OPEN, OWN]
