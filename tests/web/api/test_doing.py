"""What programs do: drafts and twins, perturbing, revising; each once for its key."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from django.conf import settings
from django.test import override_settings

from tests.web.api.calling import Program, program
from winosmith.web.people import gates
from winosmith.web.people.gates import rate_limit
from winosmith.web.people.privacy import agree
from winosmith.web.predict.asking import announce
from winosmith.web.predict.models import Prediction, Stand
from winosmith.web.problems.models import Problem, Twin, Version
from winosmith.web.write.models import Draft

KEY = "a" * 32

HALVES = {
    "domain": "physical",
    "options": ["bucket", "barrel"],
    "answers": [0, 1],
    "sentences": [
        f"In the garden behind the house Ann poured the {{word}} from the bucket into the barrel "
        f"until the _ was {end} that morning."
        for end in ("empty", "full")
    ],
}


@pytest.fixture
def ann(db: Any, person: Any) -> Any:
    """Return somebody with an account, who agreed to the texts."""
    return _agreed(person("ann"))


def _agreed(somebody: Any) -> Any:
    agree(somebody)
    return somebody


def _written(draft: dict[str, Any]) -> dict[str, Any]:
    """Return both halves with the draft's first anchor word in them."""
    word = draft["anchors"][0]
    sentences = [one.format(word=word) for one in HALVES["sentences"]]
    return {**HALVES, "sentences": sentences, "version": draft["version"]}


def _twin(caller: Program) -> str:
    draft = caller.post("drafts").json()
    saved = caller.call("put", f"drafts/{draft['ref']}", _written(draft)).json()
    assert saved["examined"]["ready"], saved["examined"]["next"]
    sent = caller.post(f"drafts/{draft['ref']}/submit", {"version": saved["version"]})
    assert sent.status_code == 201, sent.content
    return str(sent.json()["twin"])


def test_a_twin_is_written_checked_and_sent(ann: Any) -> None:
    """A draft is drawn, refused with what to do where it is unfinished, saved, and sent once."""
    caller = program(ann)
    draft = caller.post("drafts").json()
    where = f"drafts/{draft['ref']}"
    refused = caller.post(f"{where}/submit", {"version": 0})
    assert refused.status_code == 422
    assert {fault["where"] for fault in refused.json()["errors"]} >= {"domain", "option_1"}
    checked = caller.post(f"{where}/check", {**_written(draft), "version": 0}, key="")
    assert checked.status_code == 422  # the body of a check has no version
    halves = {name: value for name, value in _written(draft).items() if name != "version"}
    assert caller.post(f"{where}/check", halves, key="").json()["ready"]
    saved = caller.call("put", where, _written(draft)).json()
    assert saved["written"]["sentences"] == halves["sentences"]
    assert saved["version"] == 1
    assert caller.call("put", where, {**_written(draft), "domain": ""}).status_code == 409
    assert caller.post(f"{where}/submit", {"version": 0}).status_code == 409
    sent = [caller.post(f"{where}/submit", {"version": 1}, key) for key in (KEY, KEY, "b" * 16)]
    assert [one.status_code for one in sent] == [201] * 3
    assert len({one.content for one in sent}) == 1
    assert Twin.objects.count() == 1
    mine = caller.get(f"me/twins/{sent[0].json()['twin']}").json()
    assert sorted(half["problem"]["sentence"] for half in mine["halves"]) == sorted(
        halves["sentences"]
    )
    assert [one["ref"] for one in caller.get("me/twins").json()["items"]] == [mine["ref"]]
    caller.post(f"me/twins/{mine['ref']}/withdraw", {"reason": "a slip"})
    (entry,) = caller.get(f"me/twins/{mine['ref']}").json()["halves"][0]["history"]
    assert (entry["what"], entry["reason"]) == ("", "a slip")


def test_a_key_is_one_act_of_one_person(ann: Any, person: Any) -> None:
    """The same request acts once for a key; another with it is refused; others' keys are theirs."""
    caller, other = program(ann), program(_agreed(person("bob")))
    first, again = caller.post("drafts", key=KEY), caller.post("drafts", key=KEY)
    assert first.status_code == again.status_code == 201
    assert first.json()["ref"] == again.json()["ref"]
    assert Draft.objects.count() == 1
    wrong = caller.post(f"drafts/{first.json()['ref']}/redraw", {"what": "topic"}, KEY)
    assert wrong.status_code == 422
    assert "another request" in wrong.json()["detail"]
    assert other.post("drafts", key=KEY).json()["ref"] != first.json()["ref"]
    for key in ("", "short", "x" * 65, "with-a-dash-in-it"):
        refused = caller.post("drafts", key=key)
        assert refused.status_code == 422, key
        assert "Idempotency-Key" in refused.json()["errors"][0]["where"]
    assert Draft.objects.count() == 2


def test_too_many_are_told_when_to_come_again(ann: Any) -> None:
    """What pages limit is limited here by the same count: 429, with Retry-After."""
    caller = program(ann)
    with override_settings(RULES=replace(settings.RULES, writes_per_hour=1)):
        for _ in range(5):
            rate_limit(ann, "topic", 5)
        answer = caller.post("drafts")
    assert answer.status_code == 429
    assert 0 < int(answer["Retry-After"]) <= 7200
    assert answer.json()["status"] == 429
    assert not ann.drafts.exists()


def test_a_program_checks_and_saves_no_more_than_somebody_who_types(
    ann: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Checks and saves of drafts are counted as those of the form are."""
    monkeypatch.setattr(gates, "TYPED", 1)
    caller = program(ann)
    draft = caller.post("drafts").json()
    where, body = f"drafts/{draft['ref']}", _written(draft)
    halves = {name: value for name, value in body.items() if name != "version"}
    with override_settings(RULES=replace(settings.RULES, writes_per_hour=1)):
        checks = [caller.post(f"{where}/check", halves, key="").status_code for _ in range(2)]
        saves = [caller.call("put", where, body).status_code for _ in range(2)]
        drawn = caller.post(f"{where}/redraw", {"what": "topic"}).status_code
    assert (checks, saves, drawn) == ([200, 429], [200, 429], 429)


def test_a_sentence_is_perturbed_and_predicted(ann: Any) -> None:
    """A version is made once; what models make of it is there as soon as they answered."""
    announce(settings.RULES.models)
    caller = program(ann)
    root = Problem.objects.filter(twin__ref=_twin(caller))[0]
    where = f"problems/{root.ref}/perturb"
    bent = {"sentence": root.sentence, "options": root.options, "answer": root.answer}
    assert not caller.post(f"{where}/check", bent, key="").json()["ready"]
    refused = caller.post(where, bent)
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["where"] == "sentence"
    assert caller.post(where, {**bent, "options": ["a", "b", "c"]}).status_code == 422
    bent["sentence"] = root.sentence.replace("garden", "old garden")
    made = [caller.post(where, bent, KEY).json()["version"] for _ in range(2)]
    assert made[0] == made[1]
    assert Version.objects.filter(parent=root).count() == 1
    told = caller.get(f"versions/{made[0]}").json()
    assert (told["root"], told["parent"], told["step"]) == (root.ref, root.ref, 1)
    assert told["waiting"]
    assert told["depths"]["edit"] == 1
    Prediction.objects.filter(problem__ref=made[0]).update(
        stand=Stand.DONE, scores=[0.0, 1.0], choice=1, right=False
    )
    done = caller.get(f"versions/{made[0]}").json()["predictions"][0]
    assert done["fooled"] is True
    assert [option["percent"] for option in done["options"]] == [27, 73]
    bent["sentence"] = root.sentence.replace("garden", "small garden")
    revised = caller.post(f"versions/{made[0]}/revise", bent)
    assert revised.status_code == 201
    assert Problem.objects.get(ref=made[0]).state == "revised"
    gone = caller.get(f"versions/{made[0]}").json()["predictions"]
    assert {one["fooled"] for one in gone} == {False}
    assert Program().get(f"versions/{revised.json()['version']}").status_code == 404


def test_errors_have_one_form(ann: Any) -> None:
    """Wrong addresses, methods, bodies and fields are told of as problem details."""
    caller = program(ann)
    shapes = {
        404: caller.get("nothing/%0Ahere"),
        405: caller.call("patch", "problems"),
        400: caller.call("put", "drafts/x", "{no JSON"),
        422: caller.get("problems?since=yesterday"),
        401: Program().get("me"),
    }
    for status, answer in shapes.items():
        assert answer["Content-Type"] == "application/problem+json", status
        told = answer.json()
        assert (answer.status_code, told["status"]) == (status, status)
        assert told.keys() == {"type", "title", "status", "detail", "errors"}
    assert shapes[405]["Allow"] == "GET"
    assert shapes[422].json()["errors"][0]["where"] == "query.since"
    for path in ("problems?pgae=2", "me?pgae=2"):
        assert caller.get(path).json()["errors"][0]["where"] == "query.pgae"
    far = caller.call("put", "drafts/x", {**HALVES, "answers": [0, 7], "version": 0}).json()
    assert [fault["where"] for fault in far["errors"]] == ["body.answers.1"]
    before = caller.get("problems?since=2026-02-01&until=2026-01-01")
    assert before.json()["errors"][0]["where"] == "until"
