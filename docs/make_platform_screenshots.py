"""Take the screenshots of the platform: serve a site with generated data, and open it in Chromium.

    python docs/make_platform_screenshots.py [FOLDER OF A GENERATED SITE]

`python docs/make.py --platform` also takes them. The script needs the extras `web` and `test`, and
Chromium. It writes docs/images/platform-*.png.
"""

from __future__ import annotations

import io
import json
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from make_screenshot import launched
from PIL import Image
from playwright.sync_api import Page, sync_playwright

TARGET = Path(__file__).resolve().parent / "images"
PASSWORD = "twins-and-cups"  # noqa: S105 - of people who are made up
ROOT = "9629ac50dad5"
"""The handwritten twin whose family the screenshots show."""

GROWN = (
    (0, "The wind on the balcony blew out the candle but not the torch, because the flame of the _ "
     "was shielded.", ("torch", "candle"), 0, "ann"),
    (0, "The wind on the balcony blew out the candle but not the lantern, although the flame of "
     "the _ was shielded.", ("lantern", "candle"), 1, "zoe"),
    (1, "The storm on the balcony blew out the candle but not the torch, because the flame of the "
     "_ was shielded.", ("torch", "candle"), 0, "zoe"),
    (3, "The storm on the balcony blew out the candle but not the torch, because the flame of the "
     "_ was bare.", ("torch", "candle"), 1, "ann"),
    (2, "The wind on the balcony left the candle but not the lantern, although the flame of the _ "
     "was shielded.", ("lantern", "candle"), 0, "tom"),
    (4, "The storm on the balcony blew out the candle but not the torch, since the flame of the _ "
     "was quite bare.", ("torch", "candle"), 1, "zoe"),
)  # fmt: skip
"""Perturbed sentences: number of the parent (0: root), sentence, options, answer, contributor."""

TOPIC = {
    "title": "A Book for the Train",
    "text": "The journey is by train, and the book is for the journey. Of the train and the book, "
    "which is the journey?",
}
"""The site's only topic; the typed twin contains every word that can be drawn as an anchor."""

WIDTH, HEIGHT, SCALE = 1000, 720, 1.5

PICTURES = {
    "home": ("/", None),
    "read": ("/problems/", None),
    "download": ("/download/", None),
    "problem": ("/problems/{root}/", None),
    "account": ("/people/", "bob"),
    "write": ("/write/", "ann"),
    "mine-twin": ("/write/mine/{refused}/", "ann"),
    "judge": ("/judge/", "bob"),
    "agreement": ("/judge/agreement/", None),
    "moderate": ("/moderate/", "eva"),
    "decide": ("/moderate/problems/{held}/", "eva"),
    "people": ("/moderate/people/", "eva"),
    "perturb": ("/perturb/{root}/", "tom"),
    "prediction": ("/perturb/made/{last}/", "zoe"),
    "family": ("/families/{root}/?model=association", None),
    "models": ("/models/", None),
    "news": ("/people/news/", "ann"),
    "test-question": ("/tests/round/spring/", "kim"),
    "next": ("/admin/", "ada"),
    "settings": ("/admin/settings/#judging", "ada"),
    "dashboard": ("/admin/dashboard/", "ada"),
}
"""The page of each screenshot, and the account that opens it."""

PHONE = {"viewport": {"width": 360, "height": 740}, "is_mobile": True, "has_touch": True}

TESTED = 10
"""Number of twins that are asked in a human test instead of being judged."""

WEEKS = 4
"""Number of weeks over which the dates of the data are spread."""


def fill(folder: Path) -> None:
    """Create people and twins, and have most of the twins judged."""
    from winosmith.web import Site, hosting

    site = Site.open(folder)
    (folder / "topics.jsonl").write_text(json.dumps(TOPIC) + "\n", "utf-8")
    # The simulated people are faster than real ones.
    rules = 'topics = "topics.jsonl"\nhold_pace_seconds = 0\n'
    (folder / "site.toml").write_text(rules, "utf-8")
    hosting.prepare(site)
    site.activate()
    from winosmith import practice
    from winosmith.web.people.models import Person
    from winosmith.web.people.privacy import save_agreement
    from winosmith.web.problems.models import State
    from winosmith.web.take.rounds import open_round

    everyone = {
        **{name: {} for name in ("ann", "tom", "zoe", "kim")},
        **{name: {"is_judge": True} for name in ("bob", "cem", "dora", "emil", "fay", "gus")},
        "eva": {"is_judge": True, "is_moderator": True},
        "ada": {"is_judge": True, "is_moderator": True, "is_superuser": True},
    }
    people = {name: Person.objects.create_user(name, PASSWORD, **f) for name, f in everyone.items()}
    for person in people.values():
        save_agreement(person)
    twins = practice.read_handwritten()
    rng = random.Random(7)  # noqa: S311 - made data
    judged, last = twins.twins[:-TESTED], twins.twins[-TESTED:]
    for number, pair in enumerate(judged):
        state = State.HELD if number % 12 == 11 else State.JUDGING
        _twin([twins[row] for row in pair], people[rng.choice(["ann", "tom", "zoe"])], state)
    _judge([people[name] for name in ("bob", "cem", "dora", "emil", "fay", "gus")], rng)
    places = {"root": ROOT, "last": _family(people, people["eva"]), **_others(people["ann"])}
    open_round(twins.select([row for pair in last for row in pair]), "spring", orders=2)
    _over_weeks(rng)
    (folder / "places.json").write_text(json.dumps(places), "utf-8")


def _family(people: dict[str, Any], moderator: Any) -> str:
    """Perturb the root, let a moderator approve all but the last version, and return the last."""
    from winosmith.web.people.gates import new_key
    from winosmith.web.perturb.rules import Position, SentenceInput, create_version
    from winosmith.web.problems.models import Problem, State
    from winosmith.web.problems.states import move

    root = Problem.objects.get(ref=ROOT)
    for half in root.twin.problems.exclude(state=State.VALID):  # no half is public on its own
        move(half, State.VALID, actor=moderator, kind="accept")
    root.refresh_from_db()
    family = [root]
    for parent, sentence, options, answer, who in GROWN:
        typed = SentenceInput(sentence, options, answer)
        version = create_version(
            Position.for_new_version(people[who], family[parent]), typed, new_key()
        )
        family.append(version)
        if sentence is GROWN[-1][1]:
            break
        if version.state == State.HELD:
            move(version, State.JUDGING, actor=moderator, kind="release")
        move(version, State.VALID, actor=moderator, kind="accept")
        version.refresh_from_db()
    return family[-1].ref


def _others(ann: Any) -> dict[str, str]:
    """Return a refused twin of Ann's (refuse one if there is none) and a problem on hold."""
    from winosmith.web.problems.models import Problem, State, Twin
    from winosmith.web.problems.states import move

    refused = Twin.objects.filter(contributor=ann, problems__state=State.REJECTED)
    if not refused.exists():
        waiting = Problem.objects.filter(twin__contributor=ann, state=State.JUDGING)
        move(waiting.earliest("pk"), State.REJECTED, actor=None, kind="verdict", reason="ambiguous")
    held = Problem.objects.filter(state=State.HELD)
    return {"refused": refused.earliest("pk").ref, "held": held.earliest("pk").ref}


def _twin(halves: list[Any], contributor: Any, state: Any) -> None:
    from winosmith.web.judge.votes import open_slots
    from winosmith.web.problems.checks import find_moderator_hints
    from winosmith.web.problems.models import Event, Problem, State, Twin
    from winosmith.web.problems.records import map_to_problem, map_to_twin

    fields = {**map_to_twin(halves[0]), "source": "crowd", "licence": "CC-BY-4.0"}
    hints = find_moderator_hints(halves, contributor) if state == State.HELD else []
    twin = Twin.objects.create(ref=halves[0].twin_id, contributor=contributor, **fields)
    for half in halves:
        columns = {**map_to_problem(half), "record": {}}
        row = Problem.objects.create(twin=twin, state=state, hints=hints, **columns)
        Event.objects.create(problem=row, actor=contributor, kind="submit", after=state)
        if state == State.JUDGING:
            open_slots(row)


def _judge(judges: list[Any], rng: random.Random) -> None:
    """Let judges answer the problems that they get, nine out of ten correctly."""
    from winosmith.web.judge.turns import (
        lease_next_problem,
        needs_local_answer,
        store_answer,
        store_local_answer,
    )

    for turn in range(300):
        person = judges[turn % len(judges)]
        slot = lease_next_problem(person)
        if slot is None:
            continue
        right = slot.problem.answer
        if needs_local_answer(slot):
            store_local_answer(person, slot.ref, rng.randrange(2))
        choice = right if rng.random() < 0.93 else 1 - right
        store_answer(person, slot.ref, choice, ambiguous=rng.random() < 0.05)


def _over_weeks(rng: random.Random) -> None:
    """Spread the dates of the data over some weeks."""
    from django.db.models import Max
    from django.utils import timezone

    from winosmith.web.judge.models import Slot, Verdict
    from winosmith.web.people.models import Person
    from winosmith.web.problems.models import Event, Problem, Twin

    length = timedelta(weeks=WEEKS)
    start = timezone.now() - length
    Person.objects.update(joined=start, news_seen=start + 0.85 * length)
    twins = list(Twin.objects.order_by("pk"))
    for twin, share in zip(twins, sorted(rng.random() for _ in twins), strict=True):
        at = start + 0.4 * share * length  # before the first judgement
        Twin.objects.filter(pk=twin.pk).update(created=at)
        Event.objects.filter(problem__twin=twin, before="").update(at=at)
    votes = list(Slot.objects.filter(answered_at__isnull=False).order_by("answered_at", "pk"))
    for vote, share in zip(votes, sorted(rng.random() for _ in votes), strict=True):
        at = start + share * length
        taken = at - timedelta(seconds=rng.uniform(6, 30))
        Slot.objects.filter(pk=vote.pk).update(answered_at=at, taken_at=taken)
    decided = Problem.objects.filter(verdict__isnull=False).annotate(last=Max("slots__answered_at"))
    for problem in decided.exclude(last=None):
        Verdict.objects.filter(problem=problem).update(at=problem.last)
        Event.objects.filter(problem=problem, kind="verdict").update(at=problem.last)


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Serve the site, and yield its URL."""
    command = [sys.executable, "-m", "winosmith", "serve", str(folder), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603
    try:
        for line in process.stdout or ():
            if found := re.search(r"^Address +(\S+?)/?$", line):
                yield found[1]
                return
        raise SystemExit("the site did not start")
    finally:
        process.terminate()
        process.wait(30)


def predicted(browser: Any, address: str) -> None:
    """Wait until the models have answered all problems."""
    page = browser.new_page()
    for _ in range(120):
        page.goto(f"{address}/models/")
        bars = page.locator("main progress")
        if bars.count() and bars.evaluate_all("all => all.every(b => b.value && b.value >= b.max)"):
            break
        page.wait_for_timeout(500)
    page.close()


def run_apart(function: str, folder: Path) -> None:
    """Call a function of this file in a separate process, because Django serves one site each."""
    code = f"import sys; sys.path.insert(0, {str(TARGET.parent)!r}); "
    code += f"import make_platform_screenshots as m; m.{function}(m.Path(sys.argv[1]))"
    subprocess.run([sys.executable, "-c", code, str(folder)], check=True)  # noqa: S603


def create_version(page: Page) -> None:
    """Draw the topic, and type most of a twin into the form."""
    page.locator("main form[method=post] button").first.click()
    lent = "Nora lent Paula her favourite book before the long train journey, because _"
    typed = {
        "option_1": "Nora",
        "option_2": "Paula",
        "sentence_1": f"{lent} had already finished it.",
        "sentence_2": f"{lent} had not read it.",
    }
    page.locator("#domain-social").check()
    for name, text in typed.items():
        page.fill(f"#{name}", text)
    page.wait_for_timeout(2000)
    page.locator("#sentence_1").scroll_into_view_if_needed()
    page.evaluate("window.scrollTo(0, document.querySelector('#option_1').offsetTop - 120)")


def begin_test(page: Page) -> None:
    """Accept the consent text of a human test, and answer its first question."""
    page.get_by_label("I have read").check()
    page.get_by_role("button", name="Agree and start").click()
    page.get_by_role("link", name="First question").click()
    page.wait_for_selector("form .choice")
    page.keyboard.press("A")


def on_a_phone(browser: Any, address: str) -> None:
    """Take a screenshot of both steps of judging on a phone, side by side."""
    context = browser.new_context(**PHONE, device_scale_factor=SCALE)
    page = context.new_page()
    log_in(page, address, "gus")
    page.goto(f"{address}/judge/")
    page.locator("main button[data-key=enter]").click()
    page.wait_for_selector("form[data-judge=local]")
    shots = [page.screenshot()]
    page.locator("form[data-judge=local] label").first.click()
    page.locator("button[form=judge][data-key=enter]").click()
    page.wait_for_selector("form[data-judge=whole]")
    shots.append(page.screenshot())
    context.close()
    left, right = (Image.open(io.BytesIO(shot)) for shot in shots)
    gap = left.width // 12
    both = Image.new("RGB", (left.width + gap + right.width, left.height), "#d5dce3")
    both.paste(left, (0, 0))
    both.paste(right, (left.width + gap, 0))
    keep(both, "phone")


def shoot(page: Page, name: str) -> None:
    """Write a screenshot of the window."""
    keep(Image.open(io.BytesIO(page.screenshot())), name)


def keep(shot: Image.Image, name: str) -> None:
    """Write a screenshot with a reduced palette."""
    path = TARGET / f"platform-{name}.png"
    shot.convert("RGB").quantize(96).save(path, optimize=True)
    print(f"{path}: {path.stat().st_size / 1000:.0f} kB")  # noqa: T201


def log_in(page: Page, address: str, name: str) -> None:
    """Log a user in with the form."""
    page.goto(f"{address}/people/login/")
    page.locator("main input[name=name]").fill(name)
    page.locator("input[name=password]").fill(PASSWORD)
    page.locator("main form button").first.click()


def take_all(folder: Path) -> None:
    """Create a site in a folder unless it exists, serve it, and take every screenshot."""
    if not (folder / "site.sqlite3").exists():
        run_apart("fill", folder)
    with serving(folder) as address, sync_playwright() as started:
        browser = launched(started)
        places = json.loads((folder / "places.json").read_text("utf-8"))
        predicted(browser, address)
        for name, (place, who) in PICTURES.items():
            path = place.format(**places)
            context = browser.new_context(
                viewport={"width": WIDTH, "height": HEIGHT}, device_scale_factor=SCALE
            )
            page = context.new_page()
            if who:
                log_in(page, address, who)
            answer = page.goto(f"{address}{path}")
            if answer is None or not answer.ok:
                print(f"{path}: {answer and answer.status}", file=sys.stderr)  # noqa: T201
                continue
            page.wait_for_load_state("networkidle")
            if name == "write":
                create_version(page)
            if name == "test-question":
                begin_test(page)
            if name == "dashboard":
                page.set_viewport_size({"width": WIDTH, "height": 2 * HEIGHT})
            if name == "judge":
                page.locator("main button[data-key=enter]").click()
                page.wait_for_selector("form[data-judge=local]")
                shoot(page, "judge-local")
                page.keyboard.press("1")
                page.keyboard.press("Enter")
                page.wait_for_selector("form[data-judge=whole]")
            if name == "family":
                page.evaluate("window.scrollTo(0, document.querySelector('#tree').offsetTop - 30)")
            if name == "perturb":
                typed = page.locator("#sentence").input_value().replace("wind", "gale")
                page.fill("#sentence", typed.replace("shielded", "too weak"))
                page.locator("#answer_1").check()
                page.wait_for_timeout(1500)
            shoot(page, name)
            context.close()
        on_a_phone(browser, address)
        browser.close()


if __name__ == "__main__":
    take_all(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp()) / "site")
