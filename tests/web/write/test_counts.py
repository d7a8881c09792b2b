"""The counts of sentences that a contributor sees."""

from typing import Any

import pytest
from django.core.cache import cache

from tests.web.write.conftest import submitted
from winosmith.web import _cache
from winosmith.web.problems.models import Problem
from winosmith.web.write.page import count_problems


def test_counts_include_only_the_persons_own_sentences(
    db: Any, ann: Any, bob: Any, rules: Any
) -> None:
    """Each half of a twin counts as a sentence; the site's count includes all people."""
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


def test_cached_counts_belong_to_one_writer(
    db: Any, ann: Any, bob: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The counts of many problems are cached for a moment."""
    monkeypatch.setattr(_cache, "PROBLEMS_PER_SECOND", 2)
    submitted(ann)
    assert count_problems(ann).judging == 2
    submitted(ann)
    assert (count_problems(ann).judging, count_problems(bob).judging) == (2, 0)
    cache.clear()
    assert (count_problems(ann).judging, count_problems(ann).waiting) == (2, 2)
    cache.clear()
