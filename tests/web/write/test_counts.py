"""What a contributor is told of how much was written."""

from typing import Any

import pytest
from django.core.cache import cache

from tests.web.write.conftest import submitted
from winosmith.web import _cache
from winosmith.web.problems.models import Problem
from winosmith.web.write.page import count_problems


def test_counts_are_the_person_s_own(db: Any, ann: Any, bob: Any, rules: Any) -> None:
    """What was written today, is judged and is valid is counted in sentences, as on the site."""
    rules(review="none")
    first, _second, third = submitted(ann), submitted(ann), submitted(ann)
    submitted(bob)
    Problem.objects.filter(twin=first).update(state="valid")
    Problem.objects.filter(pk=third.problems.first().pk).update(state="valid")
    rules(goal=12)
    found = count_problems(ann)
    assert (found.today, found.waiting, found.judging, found.valid) == (6, 0, 3, 3)
    assert (found.site, found.goal, found.percent_of_goal) == (3, 12, 25)
    assert count_problems(None).today == 0


def test_counts_of_many_twins_are_kept_for_their_writer_alone(
    db: Any, ann: Any, bob: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who wrote much is told counts of a moment ago; nobody else is told theirs."""
    monkeypatch.setattr(_cache, "PROBLEMS_PER_SECOND", 2)
    submitted(ann)
    assert count_problems(ann).judging == 2
    submitted(ann)
    assert (count_problems(ann).judging, count_problems(bob).judging) == (2, 0)
    cache.clear()
    assert (count_problems(ann).judging, count_problems(ann).waiting) == (2, 2)
    cache.clear()
