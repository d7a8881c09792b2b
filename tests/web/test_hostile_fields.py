"""Hostile texts in every form field: pages and files show them unchanged, and run none.

A function of FIELDS writes all texts into a field by its own form, and returns the pages and
files that show them. `test_injection` tests sentences and options.
"""

import csv
import io
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import urljoin, urlsplit

import pytest
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import QueryDict
from django.test import override_settings

from tests.web import world as w
from tests.web.hostile import TEXTS, Page
from tests.web.making import single, vote
from tests.web.run.visits import choices
from winosmith import formats
from winosmith.outputs import unguard_cell
from winosmith.topics import Topic
from winosmith.web.judge.models import Contest
from winosmith.web.judge.trust import add_gold
from winosmith.web.judge.turns import get_current_slot
from winosmith.web.judge.votes import open_slots
from winosmith.web.moderate.models import Batch
from winosmith.web.people.gates import new_key
from winosmith.web.people.models import Person, get_pseudonym
from winosmith.web.people.privacy import save_agreement
from winosmith.web.problems.models import Event, Problem, State, Twin
from winosmith.web.problems.states import get_public_problems
from winosmith.web.read.downloads import FILES, make_content
from winosmith.web.read.public import Filters
from winosmith.web.write.models import Draft
from winosmith.web.write.rules import start_draft

Shown = list[tuple[str, str]]
"""Pairs of a role and the path of a page or file that it opens."""

Field = Callable[[Any], Shown]
"""Writes every text, and returns where the texts are shown."""

EACH, SAMPLED = 5, (["write", "mine"], ["moderate", "problems"], ["moderate", "batches"])
"""Pages of one problem each are slow, so in these folders, one of EACH is checked."""


@pytest.fixture(scope="module")
def stood(ready_site: Any) -> Iterator[Any]:
    """Create the small site once, with high rate limits."""
    often = {"writes_per_hour": 10**6, "answers_per_hour": 10**6}
    with w.standing(local_first=False, judges=1, **often) as made:
        yield made


def _singles(world: Any, state: str) -> list[Any]:
    """Create a problem of the owner for each text."""
    made, owner = [], world.people["owner"]
    for n, _text in enumerate(TEXTS):
        sentence = f"The cup number {n} hit the jug, and the _ broke."
        problem = single(f"single-{n}-a", sentence, by=owner, state=State(state))
        if state == "judging":
            open_slots(problem)
        made.append(problem)
    return made


def _send(world: Any, role: str, path: str, **form: Any) -> Any:
    """Send a form as a role, and check that it is accepted."""
    answer = w.browser_of(world, role).post(path, {"key": new_key(), **form})
    assert answer.status_code in (200, 302), (path, form, answer.status_code)
    return answer


def _send_for_each(world: Any, state: str, role: str, path: str, **form: str) -> list[Any]:
    """Send a form with each text, about a problem of its own; return the problems."""
    problems = _singles(world, state)
    for problem, text in zip(problems, TEXTS, strict=True):
        known = {"twin": problem.twin.ref, "problem": problem.ref, "text": text}
        filled = {name: value.format_map(known) for name, value in form.items()}
        _send(world, role, path.format_map(known), **filled)
    return problems


def _detail_pages(problems: list[Any]) -> Shown:
    """Return the pages of problems for their contributor and for a moderator."""
    some = problems[::EACH]
    mine = [("owner", f"/write/mine/{problem.twin.ref}/") for problem in some]
    return [*mine, *(("moderator", f"/moderate/problems/{p.ref}/") for p in some)]


def _log_pages(what: str) -> Shown:
    """Return the pages of the audit log with the newest entries of a kind."""
    newest = list(Event.objects.filter(kind=what).order_by("-pk").values_list("pk", flat=True))
    starts = [newest[0] + 1, *newest[49::50]]
    return [("admin", f"/moderate/log/?what={what}&before={start}") for start in starts]


def _give_up_test(world: Any) -> None:
    """Give up the test in progress, because nobody can judge during a test."""
    _send(world, "other", f"/tests/sheet/{world.refs['sheet']}/give-up/")


def comments(world: Any) -> Shown:
    """Write a judge's comments."""
    problems, judge = _singles(world, "judging"), world.people["other"]
    _give_up_test(world)
    _send(world, "other", "/judge/next/")
    left = list(TEXTS)
    while slot := get_current_slot(judge):
        own = slot.problem.ref.startswith("single")
        comment = left.pop(0) if own else ""
        _send(world, "other", "/judge/answer/", problem=slot.ref, choice=0, comment=comment)
    assert left == []
    history = [("other", f"/judge/history/?page={n}") for n in range(1, 2 + len(TEXTS) // 20)]
    return [*history, *_detail_pages(problems), ("other", "/people/about-me.json")]


def skips(world: Any) -> Shown:
    """Write a judge's reasons for skipping problems."""
    _singles(world, "judging")
    _give_up_test(world)
    _send(world, "other", "/judge/next/")
    for text in TEXTS:
        ref = get_current_slot(world.people["other"]).ref
        _send(world, "other", "/judge/skip/", problem=ref, reason="other", comment=text)
    return [("other", "/people/about-me.json")]


def refused_comments(world: Any) -> Shown:
    """Write comments that come too late; the page shows them to their author."""
    for text in TEXTS:
        form = {"key": "0" * 32, "problem": "x", "choice": "0", "comment": text}
        answer = w.browser_of(world, "other").post("/judge/answer/", form)
        page = Page(answer.text)
        assert (answer.status_code, page.faults) == (409, [])
        assert text in page.text
    return []


def appeals(world: Any) -> Shown:
    """Write a contributor's appeals."""
    path = "/write/mine/{twin}/appeal/"
    form = {"problem": "{problem}", "text": "{text}"}
    problems = _send_for_each(world, "rejected", "owner", path, **form)
    own = [("owner", "/people/about-me.json")]
    return [*_detail_pages(problems), *_log_pages("appeal"), *own]


def reasons(world: Any) -> Shown:
    """Write a moderator's reasons for decisions."""
    form = {"action": "reject", "pick": "{problem}:0", "text": "{text}"}
    problems = _send_for_each(world, "held", "moderator", "/moderate/act/", **form)
    marks = Batch.objects.filter(reason__in=TEXTS[::EACH]).values_list("mark", flat=True)
    batches = [("admin", f"/moderate/batches/{mark}/") for mark in marks]
    assert len(batches) == len(TEXTS[::EACH])
    news = [("owner", "/people/news/")]
    return [*_detail_pages(problems), *batches, *_log_pages("reject"), *news]


def undo_reasons(world: Any) -> Shown:
    """Write a moderator's reasons for undoing decisions."""
    form = {"action": "reject", "pick": "{problem}:0", "text": "So."}
    problems = _send_for_each(world, "held", "moderator", "/moderate/act/", **form)
    for problem, text in zip(problems, TEXTS, strict=True):
        event = Event.objects.filter(problem=problem).latest("pk").pk
        _send(world, "moderator", "/moderate/undo/", event=event, reason=text)
    return [*_detail_pages(problems), *_log_pages("undo")]


def withdrawals(world: Any) -> Shown:
    """Write a contributor's reasons for withdrawing twins."""
    path = "/write/mine/{twin}/withdraw/"
    problems = _send_for_each(world, "valid", "owner", path, reason="{text}")
    return [*_detail_pages(problems), *_log_pages("withdraw")]


def appointments(world: Any) -> Shown:
    """Write an admin's reasons for pausing and resuming a judge."""
    name = get_pseudonym(world.people["judge"])
    for n, text in enumerate(TEXTS):
        kind = ("pause", "resume")[n % 2]
        _send(world, "admin", f"/moderate/people/{name}/appoint/", kind=kind, reason=text)
    return [("moderator", f"/moderate/people/{name}/"), ("judge", "/people/about-me.json")]


def _golds(world: Any) -> list[Any]:
    """Create a gold question for each text as its explanation; the judge was wrong on all."""
    made, judge = _singles(world, "held"), world.people["judge"]
    for problem, text in zip(made, TEXTS, strict=True):
        add_gold(problem, text)
        vote(judge, problem, 1, judge.pk, gold=True, right=False, ref=f"asked-{problem.pk}")
    return made


def explanations(world: Any) -> Shown:
    """Write the explanations of gold questions."""
    return [("judge", f"/judge/checked/asked-{problem.pk}/") for problem in _golds(world)]


def contests(world: Any) -> Shown:
    """Write a judge's contests of gold questions, and a moderator's replies."""
    golds, page_of = _golds(world), "/moderate/contests/"
    for some in (slice(0, 40), slice(40, None)):
        for problem, text in zip(golds[some], TEXTS[some], strict=True):
            _send(world, "judge", f"/judge/contest/asked-{problem.pk}/", text=f"judge: {text}")
        page = Page(w.browser_of(world, "moderator").get(page_of).text)
        assert page.faults == []
        assert [text for text in TEXTS[some] if f"judge: {text}" not in page.text] == []
        for problem, text in zip(golds[some], TEXTS[some], strict=True):
            path = f"{page_of}{Contest.objects.get(slot__problem=problem).pk}/settle/"
            _send(world, "moderator", path, upheld="0", answer=text)
    return [("judge", f"/judge/checked/asked-{problem.pk}/") for problem in golds]


def drafts(world: Any) -> Shown:
    """Write into a draft, while another window has written something else."""
    path, browser = f"/write/{world.refs['draft']}/", w.browser_of(world, "owner")
    for n, text in enumerate(TEXTS):
        form = {
            "option_1": text[:100],
            "option_2": text[:90],
            "sentence_1": text,
            "sentence_2": "x",
        }
        _send(world, "owner", f"{path}save/", version=n, **form)
        other = {**form, "version": "0", "sentence_1": "y", "do": "submit"}
        for answer in (browser.get(path), browser.post(path, other)):
            page = Page(answer.text)
            assert page.faults == [], text
            assert text in page.text, text
            assert text[:100] in page.values, text
    return []


def topics(world: Any) -> Shown:
    """Draw topics with titles, texts and anchor words from three texts each.

    Three, because a title has at most 200 characters.
    """
    for n in range(0, len(TEXTS), 3):
        some = TEXTS[n : n + 3]
        titles, texts = (", ".join(f"{what} {text}" for text in some) for what in ("title", "text"))
        draft = start_draft(world.people["owner"], Topic(titles, texts, some))
        page = Page(w.browser_of(world, "owner").get(f"/write/{draft.ref}/").text)
        assert page.faults == [], some
        assert titles in page.text
        assert texts in page.text
        anchors = page.text.replace(titles, "").replace(texts, "")
        assert [text for text in some if text not in anchors] == []
        Draft.objects.filter(pk=draft.pk).delete()
    return []


def documents(world: Any) -> Shown:
    """Write a new version of the text that people agree to."""
    browser, body = w.browser_of(world, "visitor"), "\n".join(f"{text}." for text in TEXTS)
    _send(world, "admin", "/admin/tables/people/document/add/", kind="consent", text=body)
    for path in ("/people/consent/", "/people/texts/consent/2/"):
        page = Page(browser.get(path).text)
        assert page.faults == []
        assert [text for text in TEXTS if f"{text}." not in page.text] == []
    return []


def labels(world: Any) -> Shown:
    """Write the labels of invitations."""
    for text in TEXTS:
        form = {"role": "judge", "days": "1", "label": text}
        assert w.browser_of(world, "admin").post("/people/invitations/", form).status_code == 200
    return [("admin", "/people/invitations/")]


def settings_of_the_site(world: Any) -> Shown:
    """Write the title, the contact and the licence into the site's settings."""
    browser = w.browser_of(world, "visitor")
    for some in (" and ".join(TEXTS[n : n + 10]) for n in range(0, len(TEXTS), 10)):
        rules = replace(
            settings.RULES, title=f"title {some}", contact=f"a@b {some}", licence=f"by {some}"
        )
        with override_settings(RULES=rules):
            for path in ("/people/texts/", "/people/login/"):
                answer = browser.get(path)
                page = Page(answer.text)
                assert page.faults == []
                assert f"title {some}" in page.text
                assert f"by {some}" in page.text
                assert not any("evil" in value for value in answer.headers.values())
    return []


def choices_of_admins(world: Any) -> Shown:
    """Write titles, contacts and words on the settings page; refused, they are shown again."""
    pages = []
    for n, text in enumerate(TEXTS):
        form = choices(title=text[:100], contact=f"a@b {text[:100]}", words_to_flag=text[:100])
        answer = w.browser_of(world, "admin").post("/admin/settings/", {**form, "judges": "2"})
        page = Page(answer.text)
        assert (answer.status_code, page.faults) == (422, []), text
        if text[:100].strip():
            assert any(text[:100].split()[0] in value for value in page.values), text
        if n % EACH == 0 and text.strip():
            _send(world, "admin", "/admin/settings/", **form)
            pages.append(("admin", "/admin/log/"))
    for _role, path in pages[:1]:
        assert Page(w.browser_of(world, "admin").get(path).text).faults == []
    return []


def files_of_admins(world: Any) -> Shown:
    """Upload files with hostile names, sentences and refused lines; read their previews."""
    shown = 0
    for n, text in enumerate(TEXTS[::EACH]):
        bare, table = text.replace("_", " "), io.StringIO(newline="")
        rows = csv.writer(table)
        rows.writerow(["sentence", "option1", "option2", "answer"])
        rows.writerow([f"{bare} hit the cup and the _ broke.", "cup", "jug", "1"])
        rows.writerow([f"{bare} hit the cup.", "cup", f"jug {bare}", "1"])
        file = SimpleUploadedFile("x.csv", table.getvalue().encode("utf-8", "replace"))
        file.name = re.sub(r'[/\\\r\n"\0]', "", text) + ".csv"
        form = {"key": f"{n:032x}", "as_": "judging", "new_ids": "on", "file": file}
        answer = w.browser_of(world, "admin").post("/admin/import/", form, follow=True)
        assert answer.status_code in (200, 422), text
        page = Page(answer.text)
        assert page.faults == [], text
        shown += answer.status_code == 200 and "can’t be imported" in page.text
    assert shown > 10
    return []


FIELDS: list[Field] = [comments, reasons, documents, settings_of_the_site]
"""Fields shown on one's own, a moderator's and public pages, in files and in logs."""

MORE: list[Field] = [
    skips, refused_comments, appeals, undo_reasons, withdrawals, appointments, explanations,
    contests, drafts, topics, labels, choices_of_admins, files_of_admins,
]  # fmt: skip


@pytest.mark.parametrize(
    "field",
    [*FIELDS, *(pytest.param(field, marks=pytest.mark.long) for field in MORE)],
    ids=lambda field: field.__name__,
)
def test_hostile_texts_are_shown_unchanged_and_inert(world, field):
    found: dict[tuple[str, ...], list[str]] = {}
    for role, path in field(world):
        answer = w.browser_of(world, role).get(path)
        assert answer.status_code == 200, path
        found.setdefault((role, *path.split("/")[1:3]), []).extend(_texts(answer))
    for place, texts in found.items():
        whole = "\n".join(texts)
        wanted = TEXTS[::EACH] if list(place[1:]) in SAMPLED else TEXTS
        assert [text for text in wanted if text not in whole] == [], place


def _texts(answer: Any) -> list[str]:
    """Return the texts of a response, after checking that it runs nothing."""
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert not any("evil" in value or "ran=1" in value for value in answer.headers.values())
    if answer["Content-Type"].startswith("text/csv"):
        return _cells(answer.getvalue().decode())
    if answer["Content-Type"] == "application/json":
        return list(_strings(json.loads(answer.content)))
    page = Page(answer.text)
    assert page.faults == []
    return [page.text, *page.values]


FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]|[\t\r\n]")


def _cells(table: str) -> list[str]:
    """Return a table's cells as they were written, after checking that none is a formula."""
    rows = list(csv.reader(io.StringIO(table, newline=""), strict=True))
    assert {len(row) for row in rows} == {len(rows[0])}
    cells = [cell for row in rows for cell in row]
    assert [cell for cell in cells if FORMULA.match(cell)] == []
    return [unguard_cell(cell) for cell in cells]


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)


NAMES = ("@SUM", "+1+1", "-2+3", "@SUM+1-2.A1", "javascript.alert", "..", "evil.exe", "𝕊cript")
"""User names that spreadsheets, paths or pages may misread."""


def test_hostile_user_names_are_shown_unchanged_and_inert(world):
    for name, problem in zip(NAMES, _singles(world, "held"), strict=False):
        person = Person.objects.create_user(name, w.PASSWORD)
        save_agreement(person)
        person.is_moderator = True
        person.save()
        world.people["named"] = person
        world.refs["session of named"] = w.session_of(world.people["named"])
        pick = f"{problem.ref}:0"
        _send(world, "named", "/moderate/act/", action="reject", pick=pick, text="So.")
        for path in ("/", "/people/", "/people/invitations/", "/moderate/log/"):
            page = Page(w.browser_of(world, "named").get(path).text)
            assert page.faults == []
            assert person.name in page.text


ELSEWHERE = (
    "//evil.example", "https://evil.example", "http:///evil.example", "/\\evil.example",
    "\\\\evil.example", "///evil.example", "\t//evil.example", " //evil.example",
    "/\t/evil.example", "https:evil.example", "javascript:alert(1)", "/moderate//",
    "http://127.0.0.1@evil.example", "//evil%E3%80%82com", "/moderate/../../\\evil.example",
    "http://testserver.evil.example/", "\r\nSet-Cookie: ran=1", "/x\r\nSet-Cookie: ran=1",
    "/moderate/\r\nLocation: //evil.example", "http://[evil", "data:text/html,x", "",
)  # fmt: skip
"""Addresses to which no form redirects."""


COOKIES = {settings.SESSION_COOKIE_NAME, settings.CSRF_COOKIE_NAME, "messages"}


def _stays_on_this_site(answer: Any) -> bool:
    """Return whether a response stays on this site, and has only our own headers and cookies."""
    where = urljoin("http://testserver/people/login/", answer.headers.get("Location", ""))
    kept = {"ran"}.isdisjoint(answer.headers) and set(answer.cookies) <= COOKIES
    plain = not any("\r" in value or "\n" in value for value in answer.headers.values())
    safe = not re.match(r"[\\/]{2}|[\\/]\s*[\\/]", answer.headers.get("Location", ""))
    return urlsplit(where).netloc == "testserver" and kept and plain and safe


def test_hostile_next_of_a_logged_in_user_is_ignored(world):
    owner = w.browser_of(world, "owner")
    for where in (*TEXTS, *ELSEWHERE):
        for path in ("/people/login/", "/people/consent/"):
            answer = owner.get(path, {"next": where})
            assert answer.status_code == 302
            assert _stays_on_this_site(answer), (path, where)


def test_no_form_redirects_to_another_site(world):
    browser, visitor = w.browser_of(world, "moderator"), w.browser_of(world, "visitor")
    for where in ELSEWHERE:
        form = {"name": "the-owner", "password": w.PASSWORD, "next": where}
        decision = {"action": "reject", "pick": "judging-b:0", "text": "So.", "back": where}
        with w.taken_back():
            answers = [
                visitor.get("/admin/tables/login/", {"next": where}),
                visitor.get("/moderate/", {"x": where}),
                visitor.post("/write/", headers={"Referer": where}),
                browser.post("/moderate/act/", {"key": new_key(), **decision}),
                visitor.post("/people/login/", form),
            ]
        visitor.cookies.clear()  # otherwise, it stays logged in
        assert {answer.status_code for answer in answers} == {302}, where
        assert all(map(_stays_on_this_site, answers)), where


def _create_public_problems(world: Any) -> None:
    """Create a public problem for each text, at the start of its sentence and as an option."""
    for n, text in enumerate(TEXTS):
        twin = Twin.objects.create(
            ref=f"spread-{n}", contributor=world.people["owner"], domain=text[:40], topic=text,
            anchor=text, licence=text[:60], source=text[:80],
        )  # fmt: skip
        Problem.objects.create(
            ref=f"spread-{n}-a",
            twin=twin,
            state="valid",
            options=[text, "cup"],
            answer=n % 2,
            sentence=f"{text} and the teapot hit the cup number {n}, and the _ broke.",
        )


def test_hostile_texts_round_trip_in_all_download_formats(world, tmp_path):
    _create_public_problems(world)
    rows = get_public_problems().filter(sentence__contains="teapot")
    assert rows.count() == len(TEXTS)
    for name, known in FILES.items():
        unfit = make_content(Filters(QueryDict("q=teapot")).apply(), known).unfit
        kept = {
            (row.sentence, frozenset(row.options), row.options[row.answer])
            for row in rows
            if row.ref not in unfit
        }
        assert len(kept) == len(TEXTS), name
        answer = w.browser_of(world, "visitor").get(
            f"/download/{name}", {"q": "teapot", "fitting": "1"}
        )
        (tmp_path / name).write_bytes(answer.getvalue())
        found = formats.read(tmp_path / name)
        read = {(one.sentence, frozenset(one.options), one.options[one.answer]) for one in found}
        assert read == kept, name
    _cells((tmp_path / "problems.csv").read_bytes().decode())


def test_files_of_votes_contain_no_comments_or_formulas(world):
    comments(world)
    for path in ("/download/votes.csv", "/download/votes.jsonl"):
        body = w.browser_of(world, "visitor").get(path).getvalue().decode()
        assert len(body.splitlines()) >= len(TEXTS) // 2
        assert [text for text in TEXTS if len(text) > 8 and text in body] == []
        if path.endswith(".csv"):
            _cells(body)
