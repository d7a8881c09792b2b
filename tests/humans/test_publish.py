"""After a round, what it used is released with the other halves, and the rest is not."""

import pytest

from winosmith import Dataset
from winosmith.errors import DataError
from winosmith.humans import CANARY, publish
from winosmith.testing import make_twins


def test_alternates_are_released_and_the_rest_is_under_embargo() -> None:
    """The released are whole twins; every other problem has the mark; together they are all."""
    data = make_twins(10)
    used = [data[row].id for pair in data.twins[:3] for row in pair[:1]]
    after = publish(data, used)
    assert len(after.released) == 6
    assert after.alternates == 3
    assert sorted([*after.released.ids, *after.withheld.ids]) == sorted(data.ids)
    assert all(problem.embargo for problem in after.withheld)
    assert not any(problem.embargo for problem in after.released)


def test_an_earlier_embargo_ends_when_a_problem_is_used() -> None:
    """A problem that an earlier round kept back is released after it was used."""
    data = make_twins(4)
    first = publish(data, [data[data.twins[0][0]].id])
    later = publish(first.withheld, [first.withheld[0].id])
    assert not any(problem.embargo for problem in later.released)


def test_every_problem_carries_the_canary() -> None:
    """The canary belongs to the data set: the same data give the same, others another."""
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
def test_a_round_must_have_used_known_problems(used: list[str], message: str) -> None:
    """Nothing used, or something unknown, is refused."""
    with pytest.raises(DataError, match=message):
        publish(Dataset(make_twins(2)), used)
