"""The twin that the home page shows as an example."""

from typing import Any

from tests.web.judge.making import twin
from winosmith.web.judge.models import Verdict
from winosmith.web.problems.models import Problem
from winosmith.web.read.public import get_example_twin


def _shown() -> set[int]:
    return {half.twin_id for half in get_example_twin()}


def test_the_home_page_shows_the_twin_that_most_judges_agree_on(db: Any, visit: Any) -> None:
    """A twin without votes is not shown; with a split vote or a hidden half, neither."""
    pairs = [twin(opened=False) for _ in range(4)]
    Problem.objects.update(state="valid")
    for halves, counts in zip(pairs, ("", "2,1", "3", "5"), strict=True):
        for half in halves:
            Verdict.objects.create(problem=half, counts=counts, valid=True)
    assert _shown() == {pairs[3][0].twin_id}
    page = visit().get("/").content.decode()
    assert all(half.sentence.partition("_")[0].split()[2] in page for half in pairs[3])
    Problem.objects.filter(pk=pairs[3][1].pk).update(embargo=True)
    assert _shown() == {pairs[2][0].twin_id}
