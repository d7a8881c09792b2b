"""The pages and files of rounds: who sees what."""

import json
import os
import re
import shutil
from html import unescape
from typing import Any

import pytest

from tests.web.making import single
from tests.web.rounds import visits
from tests.web.rounds.making import fill
from tests.web.working import work_off
from winosmith.web.jobs import Job
from winosmith.web.people.models import Person
from winosmith.web.people.privacy import erase
from winosmith.web.problems.models import Event, Problem
from winosmith.web.rounds import running
from winosmith.web.rounds.models import Place, Round
from winosmith.web.rounds.results import erase_remaining_texts
from winosmith.web.rounds.running import publish_round

pytestmark = pytest.mark.usefixtures("db")


def _get_text(answer: Any) -> str:
    return str(answer.getvalue().decode())


def _get_files(browser: Any, name: str = "one") -> dict[str, list[dict[str, Any]]]:
    paths = {which: f"/rounds/round/{name}/{which}.jsonl" for which in ("kept", "dropped")}
    return {
        which: [json.loads(line) for line in _get_text(browser.get(path)).splitlines()]
        for which, path in paths.items()
    }


def test_unpublished_round_is_visible_only_to_moderators(stored, eva, visit):
    made = stored(published=False)
    moderator, visitor = visit(eva), visit()
    assert visitor.get("/rounds/round/one/kept.jsonl").status_code == 404
    assert "round/one/" not in _get_text(visitor.get("/rounds/"))
    assert "round/one/" in _get_text(moderator.get("/rounds/"))
    assert "Only moderators see this page" in _get_text(moderator.get("/rounds/round/one/"))
    publish_round(None, made)
    assert visitor.get("/rounds/round/one/kept.jsonl").status_code == 200
    assert "round/one/" in _get_text(visitor.get("/rounds/"))


def test_admin_starts_stops_and_resumes_a_round(db, person, visit, monkeypatch):
    """The states of the round and of its job agree, whichever page is used."""
    fill(10)
    (db.folder / "recipes").mkdir(exist_ok=True)
    (db.folder / "recipes" / "quick.toml").write_text("roots = 3\n")
    adam = visit(person("adam", is_superuser=True))

    def send(path: str, **typed: str) -> Any:
        return adam.post(path, {"key": os.urandom(16).hex(), **typed})

    def states() -> tuple[str, str]:
        return Round.objects.get().state, Job.objects.get(kind="round").state

    page = _get_text(adam.get("/rounds/start/"))
    assert 'value="round-1"' in page
    assert 'value="quick"' in page
    refused = send("/rounds/start/", name="A round", recipe="quick")
    assert refused.status_code == 422
    assert 'value="A round"' in _get_text(refused)
    assert send("/rounds/start/", name="one", recipe="quick")["Location"] == "/rounds/round/one/"
    made, job = Round.objects.get(), Job.objects.get(kind="round")
    assert (made.started_by.name, made.recipe["roots"], job.actor) == ("adam", 3, made.started_by)
    assert states() == ("waiting", "waiting")
    assert send("/rounds/start/", name="two").status_code == 422
    send("/rounds/round/one/stop/")
    work_off()
    assert states() == ("cancelled", "stopped")
    assert send("/rounds/round/one/stop/").status_code == 409
    send("/rounds/round/one/resume/")
    assert states() == ("waiting", "waiting")
    send(f"/admin/jobs/{job.mark}/confirm/", do="stop")
    assert states() == ("cancelled", "stopped")
    send(f"/admin/jobs/{job.mark}/confirm/", do="retry")
    rows = Round.objects.filter(busy=True)
    monkeypatch.setattr(running, "_run_steps", lambda _: rows.update(state="done", busy=False))
    work_off()
    assert states() == ("done", "done")


def test_page_shows_the_numbers_of_the_record(stored, visit):
    made = stored()
    page = _plain(_get_text(visit().get("/rounds/round/one/")))
    build = made.record["build"]
    last = build["funnel"]["steps"][-1]
    accuracy = made.record["solvers"]["words"]["accuracy"]["value"]
    before = made.record["artifacts"]["before"]
    for told in (
        f"problems kept of {build['funnel']['collected']['problems']}",
        f"guessed: {last['dropped']['guessed']}",
        f"{100 * accuracy:.1f} %",
        "of the kept problems are predicted by a linear model across halves that were filtered "
        f"separately (before the filter: {100 * before:.1f} %)",
        f"{made.record['roots']['drawn']} problems that all solvers answer correctly",
        made.record["digest"],
        f"whole twins, unfiltered){build['counts']['train_xl']}",
        f"filtered, also single halves){build['counts']['train_debiased']}",
    ):
        assert told in page
    assert "of them kept" not in page  # neither training set contains the other


LOST = (
    "So this round did not make the data set harder: "
    "the kept problems are as easy to guess as before."
)


def test_page_reports_that_vectors_ignore_the_answer(stored, visit):
    made = stored()
    for step in made.record["build"]["funnel"]["steps"]:
        step["dropped"] = {}
    verdict = "Not measured: for 60 of 60 twins and singles the vectors don't depend on the answer."
    made.record["artifacts"] |= {"after": None, "verdict": verdict, "blind": True}
    made.save()
    page = _plain(_get_text(visit().get("/rounds/round/one/")))
    checked = "The checks removed 0, and the filter removed 0."
    start = f"140 public problems entered the round. {checked} {LOST}"
    assert f"{start} {verdict}" in page
    assert page.index(start) < page.index("problems kept of")
    assert "of the kept problems are predicted by a linear model" not in page


def test_solver_trained_on_the_problems_has_no_accuracy(visit):
    admin = Person.objects.create_user("root")
    for half in "ba":
        problem = single(f"public-{half}")
    visits.staged({"admin": admin}, {"public": problem})
    page = _plain(_get_text(visit().get("/rounds/round/published/")))
    assert "may have seen 4 of these 6 problems in training." in page
    assert "also trained on web; it is unknown whether those data included these" in page
    assert "is the accuracy of the best solver60.0 %" in page


def test_kept_and_dropped_files_together_are_the_pool(stored, visit):
    made = stored()
    files = _get_files(visit())
    assert len(files["kept"]) == made.record["build"]["kept"]
    ids = [one["id"] for rows in files.values() for one in rows]
    assert len(ids) == len(set(ids)) == made.record["build"]["funnel"]["collected"]["problems"]
    assert not [one for one in files["kept"] if "stage" in one]
    for one in files["dropped"]:
        assert one["stage"] == "aflite"
        assert round(one["score"] * one["asked"]) == one["guessed"]
        assert 0.7 <= one["score"] <= 1


@pytest.mark.parametrize(
    "change", [{"state": "withdrawn"}, {"embargo": True}, {"state": "rejected"}, {"gold": True}]
)
def test_problem_that_is_no_longer_public_leaves_the_round(stored, visit, change):
    made = stored()
    root = Place.objects.filter(round=made, root=0).get().problem
    omitted = Place.objects.filter(round=made).exclude(stage="").first().problem
    pages = ("/rounds/round/one/", "/rounds/round/one/report/", "/perturb/")
    known = {one: _words(root) in _plain(_get_text(visit().get(one))) for one in pages}
    assert all(known.values()), known
    Problem.objects.filter(pk__in=[root.pk, omitted.pk]).update(**change)
    for one in pages:
        assert _words(root) not in _plain(_get_text(visit().get(one)))
    ids = [one["id"] for rows in _get_files(visit()).values() for one in rows]
    assert not {root.ref, omitted.ref} & set(ids)


def _words(problem: Any) -> str:
    """Return the words before the blank."""
    return " ".join(problem.sentence.partition("_")[0].split())


def _plain(page: str) -> str:
    """Return the text of a page."""
    return " ".join(unescape(re.sub(r"<[^>]+>", "", page)).split())


def test_report_is_sandboxed(stored, visit):
    stored()
    answer = visit().get("/rounds/round/one/report/")
    policy = answer["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'")
    assert "sandbox" in policy
    assert "allow-scripts" not in policy
    assert "allow-same-origin" not in policy
    assert "<script" not in _get_text(answer)


def test_published_round_changes_no_problem(stored):
    stored()
    states = set(Problem.objects.values_list("state", "embargo", "released", "gold"))
    assert states == {("valid", False, False, False)}
    assert not Event.objects.exists()


def test_erasure_deletes_the_sentences_in_all_rounds(stored, wren, visit):
    """Even those in a later round without any of the person's problems."""
    made = stored()
    source = made.folder
    shutil.copytree(made.carried_in, source / "results")
    later = Round.objects.create(name="later", state="done", recipe=made.recipe).folder
    sides = later / "results/build/private/sides.jsonl"
    sides.parent.mkdir(parents=True)
    refs = Problem.objects.values_list("ref", "sentence")
    lines = [json.dumps({"id": ref, "sentence": said, "side": "dev"}) + "\n" for ref, said in refs]
    sides.write_text("".join(lines), "utf-8")
    words = {_words(problem) for problem in Problem.objects.all()}
    assert _find_files_with(source, words)
    erase(wren(), True)
    assert erase_remaining_texts() > 0  # at the commit, which this test does not come to
    left = [*_find_files_with(source, words), *_find_files_with(later, words)]
    shutil.rmtree(source)
    shutil.rmtree(later)
    assert not left
    assert set(Place.objects.values_list("reason", flat=True)) == {""}
    assert visit().get("/rounds/round/one/").status_code == 200


@pytest.mark.parametrize("state", ["failed", "cancelled"])
def test_erasure_deletes_the_pool_of_an_unfinished_round(wren, state):
    fill(2, votes=False)
    folder = Round.objects.create(name=state, state=state, busy=False, recipe={}).folder
    folder.mkdir(parents=True)
    pool = Problem.objects.values_list("ref", "sentence")
    lines = [json.dumps({"id": ref, "sentence": said}) + "\n" for ref, said in pool]
    (folder / "pool.jsonl").write_text("".join(lines), "utf-8")
    (folder / "answers.jsonl").write_text('{"id": "a", "scores": [0', "utf-8")  # cut off
    erase(wren(), True)
    assert erase_remaining_texts() == 1  # at the commit, which this test does not come to
    left = (folder / "pool.jsonl").read_text("utf-8")
    shutil.rmtree(folder)
    assert not left


def _find_files_with(folder: Any, words: set[str]) -> list[str]:
    """Return the files that contain one of these texts."""
    return [
        str(path.relative_to(folder))
        for path in sorted(folder.rglob("*"))
        if path.suffix in (".jsonl", ".html")
        and any(one in " ".join(path.read_text("utf-8").split()) for one in words)
    ]
