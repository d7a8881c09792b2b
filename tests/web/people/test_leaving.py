"""Export of personal data, withdrawal of one's texts, erasure, and deletion of old rows."""

import json
import re
from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from tests.web.lineaged import child, root
from tests.web.making import fresh
from winosmith.errors import InputError
from winosmith.web.jobs import BACKUP, MAIL, Job
from winosmith.web.judge.models import Slot
from winosmith.web.judge.turns import (
    lease_next_problem,
    needs_local_answer,
    store_answer,
    store_local_answer,
)
from winosmith.web.people import accounts, news
from winosmith.web.people.accounts import invite, merge_visitor
from winosmith.web.people.gates import new_key, process_once, rate_limit
from winosmith.web.people.models import Done, Hits, Invitation, Person, Session, get_pseudonym
from winosmith.web.people.privacy import (
    _find_columns_with_people,
    delete_old_rows,
    erase,
    export_personal_data,
    publish_document,
    save_agreement,
    withdraw_texts,
)
from winosmith.web.predict.models import Model, Prediction
from winosmith.web.problems.family import get_path
from winosmith.web.problems.models import Problem, Version
from winosmith.web.problems.records import as_problem, as_public
from winosmith.web.problems.states import get_public_problems
from winosmith.web.write import rules
from winosmith.web.write.models import Draft

pytestmark = pytest.mark.usefixtures("db")

PASSWORD = "twins-and-cups"


def _dump_database() -> str:
    return "\n".join(
        str(row)
        for model in apps.get_models()
        if model._meta.managed
        for row in model._base_manager.values()
    )


def _judge(person: Any, **more: Any) -> None:
    slot = lease_next_problem(person)
    if needs_local_answer(slot):
        store_local_answer(person, slot.ref, 0)
    store_answer(person, slot.ref, 0, **more)


def _make_personal_data(person: Any, other: Any, twin: Any) -> list[Any]:
    """Make data of each kind about a person; return the halves that they wrote."""
    save_agreement(person)
    mine = twin(person, topic="my twin's topic")
    twin(other)
    _judge(person, comment="a comment by me")
    process_once(person, new_key(), "/x/", lambda: {"mine": 1})
    Draft.objects.create(person=person, topic="my draft's topic")
    return list(mine)


def test_personal_data_are_complete_and_have_no_secrets(visit, person, twin, ann):
    """The name of another contributor is not in the file either."""
    bob = person("bobby-who-writes")
    _make_personal_data(ann, bob, twin)
    answer = visit(ann).get("/people/about-me.json")
    assert answer.headers["Content-Disposition"] == 'attachment; filename="about-me.json"'
    told = json.loads(answer.content)
    assert told["name"] == "ann"
    assert len(told["problems"]) == len(told["agreed"]) == 2
    text = answer.text
    assert "a comment by me" in text
    assert "my draft's topic" in text
    ann.refresh_from_db()
    for secret in (ann.password, ann.salt, ann.entry, "bobby-who-writes"):
        assert secret not in text


def test_query_count_of_export_does_not_grow_with_data(ann, bob, twin):
    counts, votes = [], []
    for _ in range(3):
        twin(ann)
        twin(bob)
        _judge(ann)
        with CaptureQueriesContext(connection) as asked:
            told = export_personal_data(ann)
        counts.append(len(asked))
        votes.append(sum("ref" in row for row in told["other"]["judge.Slot.holder"]))
    assert votes[2] > votes[0] > 0
    assert counts[0] == counts[1] == counts[2]


def test_export_covers_every_table_with_people():
    """The tables in `own` have sections of their own."""
    told = {(model._meta.label, column) for model, column in _find_columns_with_people()}
    own = {("people.Agreement", "person"), ("problems.Twin", "contributor")}
    own |= {("judge.Slot", "contributor"), ("take.Subject", "person")}
    own |= {("market.Participation", "person")}
    pointing = {
        (model._meta.label, field.name)
        for model in apps.get_models(include_auto_created=True)
        for field in model._meta.concrete_fields
        if field.is_relation and field.related_model is Person
    }
    assert pointing - told == own


def test_hiding_withdraws_all_own_texts(visit, person, ann, bob, twin):
    judge = person("judge", is_judge=True)
    for state in ("judging", "valid", "held", "rejected"):
        twin(ann, state=state)
    theirs = twin(bob, state="valid")
    browser = visit(ann)
    key = re.search(r'name="key" value="(\w+)"', browser.get("/people/").text)[1]
    assert browser.post("/people/hide/", {"key": key}).status_code == 302
    assert set(get_public_problems()) == set(theirs)
    mine = Problem.objects.filter(twin__contributor=ann)
    assert set(mine.values_list("state", flat=True)) == {"withdrawn"}
    assert lease_next_problem(judge) is None
    assert "4 texts are now hidden" in browser.get("/people/").text


def test_erasure_deletes_name_secrets_and_unreleased_texts(visit, person, bob, twin):
    ann = person("ann-the-unmistakable", is_judge=True)
    mine = _make_personal_data(ann, bob, twin)
    browser = visit(ann)
    ann.refresh_from_db()
    before, secrets = (
        get_pseudonym(ann),
        (ann.password, ann.salt, browser.cookies[settings.SESSION_COOKIE_NAME].value),
    )
    typed = {"texts": "on", "sure": "on", "password": PASSWORD}
    answer = browser.post("/people/erase/", typed)
    assert "Your data have been erased" in answer.text
    rows = _dump_database()
    words = ("unmistakable", "a comment by me", "my draft's topic", "my twin's topic")
    for gone in (*words, mine[0].sentence, *secrets):
        assert gone not in rows
    assert get_pseudonym(fresh(ann)) != before
    assert not ann.is_active
    assert not ann.agreements.exists()
    assert browser.get("/people/").status_code == 302


def test_released_text_stays_under_another_pseudonym(ann, twin):
    """It keeps its topic and the agreements; texts that were not released are deleted."""
    save_agreement(ann)
    released = twin(ann, state="valid", released=True)
    waiting = twin(ann)
    author = as_problem(released[0]).origin.author
    erase(ann, texts=True)
    assert set(get_public_problems()) == set(released)
    now = get_public_problems()[0]
    assert now.sentence == released[0].sentence
    assert as_problem(now).origin.author != author
    assert now.twin.contributor.agreements.count() == 2
    assert now.twin.topic == released[0].twin.topic
    assert (fresh(waiting[0]).state, waiting[0].sentence) == ("withdrawn", "_")
    assert waiting[0].twin.topic == ""


def test_erasure_without_texts_keeps_them_in_judging(ann, twin):
    half = twin(ann)[0]
    erase(ann, texts=False)
    before = half.sentence
    assert (fresh(half).state, half.sentence) == ("judging", before)


def test_erasure_frees_the_held_problem(ann, bob, twin):
    held = twin(None)
    slot = lease_next_problem(ann)
    erase(ann, texts=False)
    assert fresh(slot).holder is None
    assert lease_next_problem(bob).problem in held


def test_erased_account_cannot_log_in(visit, ann):
    """Its name is free again."""
    erase(ann, texts=False)
    ann.refresh_from_db()
    for name in ("ann", ann.name):
        typed = {"name": name, "password": PASSWORD}
        assert visit().post("/people/login/", typed).status_code == 422
    typed = {"name": "ann", "password": PASSWORD, "again": PASSWORD}
    assert visit().post("/people/join/", typed).status_code == 302


def test_requests_during_an_erasure_store_nothing(twin, contributor):
    """A request may begin before the erasure and write after it."""
    ann = contributor("ann")
    mine = twin(ann)[0].twin
    token = news.make_address_token(ann, "ann@example.org")
    publish_document("consent", "Everything is different now.")
    erase(type(ann).objects.get(pk=ann.pk), texts=False)
    acts = {
        "a form": lambda: process_once(ann, new_key(), "/x/", lambda: {"mine": 1}),
        "a consent": lambda: save_agreement(ann),
        "a password": lambda: accounts.set_new_password(ann, "jugs-and-cups-9"),
        "an address": lambda: news.confirm_address(ann, token),
        "a revision": lambda: rules.open_revision(ann, mine),
    }
    before = _dump_database()
    for act in acts.values():
        with pytest.raises(InputError, match="closed in the meantime"):
            act()
    assert _dump_database() == before


def test_only_admin_cannot_be_erased(person, adam):
    with pytest.raises(InputError, match="only admin"):
        erase(adam, texts=False)
    person("eve", is_superuser=True)
    erase(adam, texts=False)
    assert fresh(adam).erased


def test_erasure_requires_password_and_tick(visit, ann):
    browser = visit(ann)
    for typed in ({"sure": "on", "password": "no"}, {"password": PASSWORD}):
        assert browser.post("/people/erase/", typed).status_code == 422
    assert not fresh(ann).erased


def test_erasure_deletes_text_in_edits_and_predictions(ann, bob):
    """Derived versions keep their path and depths."""
    top = root(bob)
    middle = child(top, ann, new=("not fit", "secretly fit"))
    made = child(middle, bob, new=("secretly fit", "truly fit"))
    model = Model.objects.create(name="m", solver="random", revision="1", digest="d")
    Prediction.objects.create(problem=middle, model=model)
    before = Version.objects.get(problem=made)
    erase(ann, texts=True)
    assert "secretly" not in _dump_database()
    made.refresh_from_db()
    assert fresh(middle).state == "withdrawn"
    assert get_path(made) == [top, middle, made]
    after = Version.objects.get(problem=made)
    assert [after.lineage, after.edit, after.step] == [before.lineage, before.edit, before.step]
    for datum in (as_problem(middle), *as_public([made])):
        assert (datum.lineage.root, datum.lineage.edits) == (top.ref, ())
    assert made.sentence == "The cup did truly fit on the shelf because the _ was too big."
    assert not middle.predictions.exists()
    later = Version.objects.get(problem=child(made, bob, new=("big", "large")))
    assert (later.step, later.lineage, later.edit) == (3, None, 2)


def test_hiding_keeps_versions_that_others_derived(ann, bob):
    middle = child(root(bob), ann)
    made = child(middle, bob, new=("fit", "belong"))
    assert withdraw_texts(ann) == 1
    assert [Problem.objects.get(pk=one.pk).state for one in (middle, made)] == [
        "withdrawn", "valid",
    ]  # fmt: skip


def test_account_adopts_versions_written_anonymously(ann):
    nobody = Person.objects.create_anonymous()
    top = root()
    made = child(top, nobody, state="judging")
    merge_visitor(ann, nobody)
    assert fresh(made.twin).contributor == ann
    assert lease_next_problem(ann) is None
    assert get_path(made) == [top, made]


def test_personal_data_have_depths_but_not_the_parents_text(bob, ann):
    middle = child(root(), bob, new=("not fit", "secretly fit"), state="held")
    made = child(middle, ann, new=("secretly fit", "truly fit"))
    (told,) = export_personal_data(ann)["problems"]
    assert (told["id"], told["parent"]) == (made.ref, middle.ref)
    assert told["depths"] == {"declared": None, "lineage": 1, "edit": 1}
    assert "secretly" not in str(told)


def test_only_old_rows_are_deleted(visit, ann, twin, rules):
    """Hits are kept for a day, sessions until they end, and other rows for `retention_days`."""
    rules(retention_days=30)
    twin(ann)
    rate_limit(ann, "write", 5)
    process_once(ann, new_key(), "/x/", dict)
    invite("judge", 30)
    Draft.objects.create(person=ann, topic="x")
    visit(ann)
    Person.objects.create_anonymous()
    wrote = Person.objects.create_anonymous()
    twin(wrote)
    slot = Slot.objects.filter(problem__twin__contributor=ann)[0]
    slot.open, slot.answered_at, slot.choice = False, timezone.now(), 0
    slot.seconds = slot.local_seconds = 7.5
    slot.save()
    tables = (Hits, Done, Invitation, Draft, Session)

    def rows() -> list[int]:
        return [model.objects.count() for model in tables]

    now = timezone.now()
    assert sum(delete_old_rows(now).values()) == 0
    assert delete_old_rows(now + timedelta(days=2))["hits"] == 1
    assert rows() == [0, 1, 1, 1, 1]
    delete_old_rows(now + timedelta(days=29))
    assert rows() == [0, 1, 1, 1, 1]
    gone = delete_old_rows(now + timedelta(days=31))
    assert rows() == [0, 0, 0, 0, 1]
    assert {name for name, count in gone.items() if count} == {
        "forms",
        "invitations",
        "timings",
        "people",
        "write",
    }
    assert (fresh(slot).seconds, slot.local_seconds, slot.choice) == (None, None, 0)
    assert set(Person.objects.all()) == {ann, wrote}
    assert Problem.objects.count() == 4
    assert delete_old_rows(now + timedelta(days=61))["sessions"] == 1


def test_refused_mails_are_deleted_after_a_week():
    """Admins see them until then. Other failed jobs are kept."""
    now = timezone.now()
    for kind in (MAIL, BACKUP):
        Job.objects.create(kind=kind, state=Job.State.FAILED, ended=now, asked={})
    assert delete_old_rows(now + timedelta(days=6))["mails"] == 0
    assert delete_old_rows(now + timedelta(days=8))["mails"] == 1
    assert [job.kind for job in Job.objects.all()] == [BACKUP]
