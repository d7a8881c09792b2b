"""News: the number at the top of each page, and the page of news."""

import re
from typing import Any

import pytest
from django.core.cache import cache
from django.db import OperationalError, transaction

from tests.web.judge.making import give, gold, twin as judged_twin
from tests.web.making import fresh
from tests.web.working import work_off
from winosmith.web.judge.submissions import submit_twin
from winosmith.web.judge.trust import contest_gold, settle_contest as settle
from winosmith.web.judge.turns import lease_next_problem
from winosmith.web.moderate import batches, decisions
from winosmith.web.moderate.people import change_person
from winosmith.web.people import news
from winosmith.web.people.privacy import erase, export_personal_data
from winosmith.web.problems.lookalikes import Half
from winosmith.web.problems.models import Problem

pytestmark = pytest.mark.usefixtures("forgotten", "rules")


@pytest.fixture
def usual() -> dict[str, Any]:
    """Return rules with one judge per problem, without gold and training."""
    return {"gold_every": 0, "judges": 1, "training_questions": 0, "training_right": 0}


def _badge(browser: Any) -> int:
    """Return the number of unread news on the home page."""
    cache.clear()
    found = re.search(r'class="unheard">(\d+)', browser.get("/").text)
    return int(found[1]) if found else 0


def _news(browser: Any) -> str:
    return str(browser.get("/people/news/").text)


def test_verdict_is_news_to_the_contributor_once(db, bob, ann, visit):
    browser = visit(ann)
    (half,) = judged_twin(ann, halves=1)
    assert _badge(browser) == 0
    give(bob)
    assert _badge(browser) == 1
    page = _news(browser)
    assert "Judges found your sentence valid" in page
    assert f"/write/mine/{half.twin.ref}/" in page
    assert page.count('class="new"') == 1
    assert _badge(browser) == 0
    again = _news(browser)
    assert "Judges found your sentence valid" in again
    assert 'class="new"' not in again


def test_appeal_is_news_to_moderators_and_answer_to_contributor(db, bob, ann, eva, visit):
    """People get no news of their own actions."""
    (half,) = judged_twin(ann, halves=1)
    give(bob, choice=1)
    assert fresh(half).state == "rejected"
    _news(visit(ann)), _news(visit(eva))
    decisions.appeal(ann, half, "It is fair.")
    assert (_badge(visit(ann)), _badge(visit(eva))) == (0, 1)
    page = _news(visit(eva))
    assert "An appeal is waiting for a moderator" in page
    assert "1 appeal is open" in page
    assert half.sentence not in page  # the moderator could judge the other half
    seen = half.events.order_by("-pk").first().pk
    batches.apply_to_selected(eva, "decline", [(half.ref, seen)], "The votes hold.")
    assert _badge(visit(ann)) == 1
    page = _news(visit(ann))
    assert "A moderator declined your appeal" in page
    assert "The votes hold." in page


def test_new_problems_are_one_item_of_news_to_a_judge(db, rules, bob, ann, visit):
    """People who can't judge any of them get no news. The page shows how many are left."""
    rules(review="none")
    _news(visit(bob)), _news(visit(ann))
    for n in range(3):
        ends = ("broke", "held")[: n + 1]  # a judge gets only one half of a twin
        text = f"The cup {n} hit the jug, and the _ "
        submit_twin(
            ann, [Half(f"{text}{end}.", ("cup", "jug"), at) for at, end in enumerate(ends)], []
        )
    assert (_badge(visit(bob)), _badge(visit(ann))) == (1, 0)
    page = _news(visit(bob))
    assert "There are new problems to judge" in page
    assert "3 problems are left for you to judge" in page
    for _left in range(3):
        give(bob)
    assert "left for you to judge" not in _news(visit(bob))


def test_settled_contest_is_news_to_the_judge(db, rules, bob, eva, visit):
    rules(gold_every=1)
    gold(1)
    slot = give(bob, choice=1)
    assert slot.gold
    contested = contest_gold(bob, slot.ref, "The cup is of steel.")
    _news(visit(bob))
    settle(contested, eva, upheld=True, answer="True: cups may be.")
    assert _badge(visit(bob)) == 1
    page = _news(visit(bob))
    assert "A moderator agreed with your objection" in page
    assert "True: cups may be." in page
    assert f"/judge/checked/{slot.ref}/" in page
    assert page.count('class="sentence') == 1
    Problem.objects.filter(pk=slot.problem_id).update(state="withdrawn")
    assert 'class="sentence' not in _news(visit(bob))


def test_news_do_not_reveal_that_the_held_problem_is_gold(db, rules, person, visit):
    """The page is the same as for a judge who holds the last problem that is left."""
    pages = []
    gold(1)
    for every, name in enumerate(("bob", "eva")):
        rules(review="none", judges=3, gold_every=every)
        judge = person(name, is_judge=True)
        if not every:
            submit_twin(
                None, [Half("The cup hit the jug, and the _ broke.", ("cup", "jug"), 0)], []
            )
        slot = lease_next_problem(judge)
        assert slot.gold == bool(every)
        assert _badge(visit(judge)) == 0
        pages.append(re.sub(r'(value|account)="[\w-]+"|bob|eva', "", _news(visit(judge))))
    assert pages[0] == pages[1]
    assert "A problem is reserved for you" in pages[0]


def test_erasure_deletes_the_time_when_news_were_read(db, ann, visit):
    _news(visit(ann))
    assert export_personal_data(fresh(ann))["news_seen"] == ann.news_seen is not None
    erase(ann, True)
    assert fresh(ann).news_seen is None


def test_news_are_shown_while_the_database_is_locked(ready_site, person, visit, monkeypatch):
    def locked() -> Any:
        raise OperationalError("database is locked")

    with transaction.atomic():
        ann = person("ann")
        browser = visit(ann)
        monkeypatch.setattr(news, "writing", locked)
        assert browser.get("/people/news/").status_code == 200
        transaction.set_rollback(True)


def test_decisions_on_votes_are_news_to_the_judge(db, rules, bob, eva, visit):
    """The reason, which is for the log, is not shown."""
    rules(judges=3)
    judged_twin(halves=1)
    give(bob)
    told = {
        "pause": "A moderator put your votes on hold to check them",
        "resume": "A moderator approved your votes that were on hold",
        "exclude": "A moderator excluded your votes",
        "include": "A moderator included your votes again",
    }
    for kind in told:
        change_person(eva, bob, kind, "Is p-1 the same person?")
        work_off()
    page = _news(visit(bob))
    assert [page.count(text) for text in told.values()] == [1, 1, 1, 1]
    assert page.count('class="new"') == 4
    assert "same person" not in page
    assert "A moderator" not in _news(visit(eva))
