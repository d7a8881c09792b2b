"""Publication after a round: the used problems with their other halves, and no others."""

import pytest

from winosmith import Dataset
from winosmith.errors import DataError
from winosmith.humans import CANARY, publish
from winosmith.testing import make_twins


def test_used_twins_are_released_and_others_embargoed() -> None:
    data = make_twins(10)
    used = [data[row].id for pair in data.twins[:3] for row in pair[:1]]
    after = publish(data, used)
    assert len(after.released) == 6
    assert after.alternates == 3
    assert sorted([*after.released.ids, *after.withheld.ids]) == sorted(data.ids)
    assert all(problem.embargo for problem in after.withheld)
    assert not any(problem.embargo for problem in after.released)


def test_embargo_ends_when_a_problem_is_used() -> None:
    data = make_twins(4)
    first = publish(data, [data[data.twins[0][0]].id])
    later = publish(first.withheld, [first.withheld[0].id])
    assert not any(problem.embargo for problem in later.released)


def test_every_problem_has_the_canary_of_the_data() -> None:
    data = make_twins(3)
    after = publish(data, [data[0].id])
    marks = {problem.extra[CANARY] for problem in (*after.released, *after.withheld)}
    assert marks == {after.canary}
    assert publish(data, [data[0].id]).canary == after.canary
    assert publish(data[:2], [data[0].id]).canary != after.canary
    assert publish(data, [data[0].id], canary="mine").released[0].extra[CANARY] == "mine"


@pytest.mark.parametrize(
    ("used", "message"),
    [([], "the list of used problems is empty"), (["?"], "no problem with the id")],
)
def test_no_or_unknown_used_problems_are_refused(used: list[str], message: str) -> None:
    with pytest.raises(DataError, match=message):
        publish(Dataset(make_twins(2)), used)
