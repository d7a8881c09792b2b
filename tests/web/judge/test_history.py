"""A judge's own history, which does not reveal gold questions."""

import re
from typing import Any

from tests.web.judge.making import give, gold, passes, singles, twin
from winosmith.web.judge.models import Gold, Slot
from winosmith.web.judge.submissions import withdraw_twin
from winosmith.web.problems.models import Problem


def _page(browser: Any, query: str = "") -> str:
    text = browser.get(f"/judge/history/{query}").content.decode()
    return re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "", text)


def test_history_does_not_reveal_gold_questions(db: Any, rules: Any, ann: Any, visit: Any) -> None:
    """The page is the same, byte for byte, whichever of the questions were gold."""
    gold(4)
    singles(4)
    for at in range(8):
        rules(gold_every=at % 2, training_questions=0, training_right=0)
        give(ann, choice=at % 2, ambiguous=at == 3, comment="So it is." if at == 5 else "")
        passes(ann, 60)
    rows = Slot.objects.filter(holder=ann)
    assert sorted(slot.gold for slot in rows) == [False] * 4 + [True] * 4
    browser = visit(ann)
    before = _page(browser)
    assert before.count('<p class="sentence"') == 8
    Gold.objects.all().delete()
    for slot in rows:
        Problem.objects.filter(pk=slot.problem_id).update(gold=not slot.gold)
        slot.gold, slot.right = not slot.gold, None
        slot.save(update_fields=["gold", "right"])
    assert _page(browser) == before


def test_history_has_only_own_answers_newest_first(
    db: Any, rules: Any, ann: Any, bob: Any, visit: Any
) -> None:
    rules(judges=3)
    problems = singles(3)
    for at in range(3):
        give(ann, choice=at % 2)
        passes(ann, 60)
    give(bob, comment="mine alone")
    page = _page(visit(ann))
    found = re.findall(r"jug number (\d+)", page)
    asked = [re.search(r"jug number (\d+)", row.sentence)[1] for row in problems]
    assert found == asked[::-1]
    assert "mine alone" not in page
    chosen = re.findall(r"(\w+)</bdi> <strong>\(your answer\)", page)
    assert 'class="answer"' not in page  # the mark of correct answers
    assert chosen == ["cup", "jug", "cup"]


def test_history_hides_withdrawn_sentences(db: Any, person: Any, visit: Any, ann: Any) -> None:
    zoe = person("zoe")
    (problem,) = twin(zoe, halves=1)
    give(ann)
    withdraw_twin(zoe, problem.twin)
    page = _page(visit(ann))
    assert problem.sentence not in page
    assert "This sentence is no longer shown." in page
