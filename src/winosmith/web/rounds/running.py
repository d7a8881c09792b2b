"""A round: it is begun, carried out, cancelled, let go on, published; and others see how far it is.

Its recipe is the site's own settings, or a file of `winosmith round`, such as one in `recipes/`.
The site's worker carries it out, as a job, and writes what is done into the row of the round.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import IntegrityError, OperationalError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_lazy

from winosmith import formats
from winosmith.build import Advance
from winosmith.errors import InputError, OutputError
from winosmith.finished import BuildFiles
from winosmith.outputs import OutputFolder
from winosmith.records import read_toml
from winosmith.rounds import (
    Change,
    Round as Found,
    RoundRecipe,
    find_changes,
    parse_round,
    run_round,
)
from winosmith.study import find_training_data, make_solver
from winosmith.validate import write_votes
from winosmith.web._export import chunks, one_moment
from winosmith.web._lock import chunked, writing
from winosmith.web._site import RECIPE_NAME, RECIPES
from winosmith.web.jobs import BUSY, ENDED, ROUND, Job, rounds_are_idle
from winosmith.web.judge.votes import responses, vote_rules
from winosmith.web.people.models import Person
from winosmith.web.problems.models import Problem
from winosmith.web.problems.records import as_public
from winosmith.web.problems.states import public_problems
from winosmith.web.rounds.models import Place, Round

PROBLEMS, VOTES = "problems.jsonl", "votes.jsonl"
"""The files of a pool; the votes are empty if there are none."""

OWN = ("name", "data", "format", "votes_file")
"""Keys of a recipe that the site fills in itself."""

LEARNER = {"name": "taught-words", "solver": "association", "learn": True}
"""A solver next to the site's models: word association, taught each round's train_xl again."""


def solvers() -> list[dict[str, Any]]:
    """Return the tables of the solvers that a round asks unless its recipe names others.

    The models of the site, and `LEARNER`. A chat server may cost money: a recipe must name it.
    """
    models = [
        {"name": rule.name, "solver": rule.solver, **rule.options}
        for rule in settings.RULES.models
        if rule.solver != "chat"
    ]
    if any(table["name"] == LEARNER["name"] for table in models):
        return models
    return [*models, dict(LEARNER)]


def named_recipes() -> list[str]:
    """Return the names of the recipes in the site's folder, in order."""
    folder = Path(settings.SITE.folder, RECIPES)
    return sorted(path.stem for path in folder.glob("*.toml") if RECIPE_NAME.fullmatch(path.stem))


def read_recipe(path: str | Path) -> tuple[dict[str, Any], str]:
    """Return the table of a file, or of one out of `named_recipes`, and where its paths begin.

    Raises:
        RecipeError: there is none, or it is no TOML.
    """
    path = (
        Path(settings.SITE.folder, RECIPES, f"{path}.toml")
        if path in named_recipes()
        else Path(path)
    )
    return read_toml(path), str(path.resolve().parent)


def complete(table: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return a table with the round's name and what a site takes for granted.

    What the site found valid is valid, by its own judges and moderators: the votes are handed over
    for what they tell of agreement, and drop nothing, unless the recipe has rules of its own.
    """
    filled = {key: value for key, value in table.items() if key not in OWN}
    rules = vote_rules()
    off = dict.fromkeys(("correct", "unambiguous", "unassociated", "local"), "off")
    filled.setdefault(
        "votes",
        {"judges": rules.judges, "both_halves": rules.both_halves, "undecided": "keep", **off},
    )
    filled.setdefault("solvers", solvers())
    return {"name": name, **filled}


def checked_recipe(table: Mapping[str, Any]) -> RoundRecipe:
    """Return the recipe of a complete table, before there is a pool.

    Raises:
        RecipeError: a key or a value that can't be used.
    """
    return parse_round({**table, "data": PROBLEMS, "votes_file": VOTES})


def recipe_for(round_: Round, pool: Path) -> RoundRecipe:
    """Return the recipe of a round whose pool is there.

    Raises:
        RecipeError: a file that the recipe names is gone.
    """
    files = {"data": str(pool / PROBLEMS)}
    if (pool / VOTES).stat().st_size:
        files["votes_file"] = str(pool / VOTES)
    return parse_round({**round_.recipe, **files}, folder=base_of(round_))


def base_of(round_: Round) -> Path:
    """Return from where the relative paths of a round's recipe are seen."""
    return Path(round_.base or settings.SITE.folder)


LEAST = 20
"""Public problems; of fewer nothing can be learnt, held out and measured."""

NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")


class BusyError(InputError):
    """Another round waits or runs."""


def round_named(name: str) -> Round:
    """Return a round; raises InputError with the names that there are."""
    found = Round.objects.filter(name=name).first()
    if found is None:
        known = ", ".join(Round.objects.order_by("pk").values_list("name", flat=True))
        raise InputError(f"there is no round {name!r}; there are: {known or 'none yet'}")
    return found


def next_name() -> str:
    """Return the name of a round that is given none: "round-3" where two came before it."""
    number = Round.objects.count() + 1
    while Round.objects.filter(name=f"round-{number}").exists():
        number += 1
    return f"round-{number}"


def start(name: str, table: Mapping[str, Any], base: str = "") -> Round:
    """Return a new round, to be carried out; it is compared with the one published last.

    Args:
        name: of the round: small letters, digits and dashes.
        table: its recipe, as `complete` fills it.
        base: from where relative paths of the recipe are seen; "" for the site's folder.

    Raises:
        BusyError: another round waits or runs.
        InputError: a name or a recipe that can't be used; too small a pool.
    """
    if not NAME.fullmatch(name):
        raise InputError(_("The name is up to 40 small letters, digits and dashes."))
    filled = complete(table, name)
    checked_recipe(filled)
    with writing():
        round_ = Round(name=name, recipe=filled, base=base)
        if Round.objects.filter(name=name).exists() or round_.folder.exists():
            raise InputError(_("A round with this name already exists; choose another name."))
        count = public_problems().count()
        if count < LEAST:
            raise InputError(
                _("A round needs %(least)d public problems; there are %(count)d.")
                % {"least": LEAST, "count": count}
            )
        _only_one()
        round_.last = Round.objects.exclude(published=None).order_by("-published").first()
        _saved(round_)
    return round_


def cancel(round_: Round) -> None:
    """Give up a round that waits or runs; what it has done so far stays for another try.

    A process that is at it stops before its next step.

    Raises:
        InputError: it has ended already.
    """
    with writing():
        locked = _locked(round_)
        if not locked.busy:
            raise InputError(_("The round has already ended."))
        locked.state, locked.busy = Round.State.CANCELLED, False
        locked.ended = timezone.now()
        locked.save(update_fields=["state", "busy", "ended"])


def again(round_: Round) -> None:
    """Let a round that failed or was cancelled continue where it was, with the pool that it had.

    Raises:
        BusyError: another round waits or runs.
        InputError: it neither failed nor was cancelled.
    """
    with writing():
        locked = _locked(round_)
        if locked.state not in (Round.State.FAILED, Round.State.CANCELLED):
            raise InputError(_("The round neither failed nor was cancelled."))
        _only_one()
        locked.state, locked.busy = Round.State.WAITING, True
        locked.error, locked.ended = "", None
        _saved(locked)


def publish(by: Person | None, round_: Round) -> None:
    """Let everyone see what came of a round, and contributors what it omitted from theirs.

    Args:
        by: an admin; None for anyone who has a terminal.
        round_: one that is done.

    Raises:
        InputError: nobody who may, it is not done, or it was published.
    """
    if by is not None and not (by.is_active and by.is_superuser):
        raise InputError(_("Only admins can publish rounds."))
    with writing():
        locked = _locked(round_)
        if locked.state != Round.State.DONE:
            raise InputError(_("The round is not finished; there is nothing to publish yet."))
        if locked.published:
            raise InputError(_("The round has already been published."))
        locked.published, locked.published_by = timezone.now(), by
        locked.save(update_fields=["published", "published_by"])


def _only_one() -> None:
    busy = Round.objects.filter(busy=True).first()
    if busy is not None:
        raise BusyError(
            _("The round %s is not finished; wait for it, or cancel it first.") % busy.name
        )


def _saved(round_: Round) -> None:
    """Write a round that waits."""
    try:
        with transaction.atomic():
            round_.save()
    except IntegrityError:  # somebody was quicker by a moment, on a server without turns
        raise BusyError(_("Another round, or one of this name, has just been started.")) from None


def _locked(round_: Round) -> Round:
    return Round.objects.select_for_update(no_key=True).get(pk=round_.pk)


POOL, STORING = "handing over", "storing"
"""The first and the last step; those between are of `winosmith.rounds.run_round`."""

OFTEN = 1.0
"""Seconds between two notes of how much of a step is done."""


@dataclass(frozen=True)
class Doing:
    """What is done for a round.

    Attributes:
        step: the title of the step; of all steps it is the `number`-th, from 1 on, of `of`.
        done, total: how much of the step is done; None if that is not known.
        note: more about it, such as the phase.
        since: when the step began, seconds since 1970.
    """

    step: str = ""
    number: int = 0
    of: int = 0
    done: int = 0
    total: int | None = None
    note: str = ""
    since: float = 0.0


class Cancelled(Exception):  # noqa: N818 - it is none: somebody wanted it
    """The round does not run any more, for somebody said so."""


def steps_of(solvers: list[str]) -> list[str]:
    """Return the titles of all steps of a round, in order."""
    building = ["reading", "checking", "embedding", "filtering", "measuring", "writing"]
    solving = [f"solving with {name}" for name in solvers]
    return [POOL, *building, *solving, "measuring", "writing", STORING]


class Teller:
    """Says which step of a round is at work, and notes those that are finished."""

    def __init__(self, round_: Round, recipe: RoundRecipe) -> None:
        self.round = round_
        self.steps = steps_of([rule.name for rule in recipe.solvers])
        self.at = -1
        self.doing = Doing(of=len(self.steps))
        self.due = 0.0
        self.timings: list[tuple[str, float]] = []

    @contextmanager
    def __call__(self, title: str, total: int | None) -> Iterator[Advance]:
        """Show a step; see `winosmith.build.Step`.

        Raises:
            Cancelled: the round is not to continue.
        """
        self.at = self._place(title)
        self.doing = replace(
            self.doing, step=title, number=self.at + 1, done=0, total=total, note="",
            since=time.time(),
        )  # fmt: skip
        self._noted(step=title, doing=asdict(self.doing))
        yield self._advance
        self.timings.append((title, round(time.time() - self.doing.since, 2)))

    def _place(self, title: str) -> int:
        """Return which step this is: the next one of its title; steps may be omitted."""
        later = [n for n in range(self.at + 1, len(self.steps)) if self.steps[n] == title]
        return later[0] if later else self.at

    def _advance(self, done: int, note: str) -> None:
        self.doing = replace(self.doing, done=done, note=note)
        if time.monotonic() >= self.due:
            self.due = time.monotonic() + OFTEN
            self._noted(doing=asdict(self.doing))

    def _noted(self, **changes: object) -> None:
        running = Round.objects.filter(pk=self.round.pk, state=Round.State.RUNNING)
        with writing():
            if not running.update(**changes):
                raise Cancelled


def progress_of(round_: Round) -> dict[str, Any] | None:
    """Return how far a round is that waits or runs; None for one that is over.

    Whether a process is `at_work`: if none is, it was broken off. After its first step has
    begun, also the fields of `Doing`, the step in words; `percent` of all steps, each counted as
    one; since when the step runs, and `until` when the round may, None if nothing tells.
    """
    if not round_.busy:
        return None
    if rounds_are_idle() or not round_.doing:
        return {"at_work": not rounds_are_idle()}
    doing = Doing(**round_.doing)
    share = min(1.0, doing.done / doing.total) if doing.total else None
    seconds = _left(round_, doing, share)
    return {
        **asdict(doing),
        "at_work": True,
        "step": _step(doing.step),
        "percent": round(100 * (doing.number - 1 + (share or 0)) / max(doing.of, 1)),
        "since": datetime.fromtimestamp(doing.since, UTC),
        "until": None if seconds is None else datetime.fromtimestamp(time.time() + seconds, UTC),
    }


def _left(round_: Round, doing: Doing, share: float | None) -> float | None:
    """Return the seconds that the round may take yet, by the round before it; None without one.

    The steps of that one took as long as they took; this one's are longer by as much as its step
    at work is, where that can be told.
    """
    took = _usual(round_)
    if took is None:
        return None
    steps = steps_of([table["name"] for table in round_.recipe["solvers"]])
    passed = time.time() - doing.since
    usual = took.get((doing.number, doing.step), 0.0)
    whole = passed / share if share and share > 0.05 else max(usual, passed)
    pace = max(1.0, whole / usual) if usual > 1 else 1.0
    later = sum(took.get((n, steps[n - 1]), 0.0) for n in range(doing.number + 1, len(steps) + 1))
    return max(0.0, whole - passed) + pace * later


def _usual(round_: Round) -> dict[tuple[int, str], float] | None:
    """Return how long each step of the round before took, by number and title."""
    before = Round.objects.filter(state=Round.State.DONE, pk__lt=round_.pk).order_by("-pk").first()
    if before is None:
        return None
    titles = steps_of([table["name"] for table in before.recipe["solvers"]])
    found: dict[tuple[int, str], float] = {}
    at = 0
    for title, seconds in before.timings:
        later = [n for n in range(at, len(titles)) if titles[n] == title]
        if later:
            at = later[0] + 1
            found[at, title] = float(seconds)
    return found


_STEPS = {
    POOL: gettext_lazy("exporting the public problems"),
    "reading": gettext_lazy("reading the pool"),
    "checking": gettext_lazy("checking structure and votes"),
    "embedding": gettext_lazy("embedding the problems"),
    "filtering": gettext_lazy("filtering problems that linear models can guess"),
    "measuring": gettext_lazy("computing the results"),
    "writing": gettext_lazy("writing the files"),
    STORING: gettext_lazy("storing the results"),
}


def _step(title: str) -> str:
    """Return the words for a step of a round."""
    if title.startswith("solving with "):
        return _("%s answers") % title.removeprefix("solving with ")
    return str(_STEPS.get(title, title))


def handed_over(round_: Round) -> Path:
    """Write the pool of a round, once; return its folder.

    Problems, votes and lineages are of one moment, people stand under pseudonyms. When the round
    is taken up again, its pool is the one that it began with.
    """
    folder = round_.folder / "pool"
    output = OutputFolder.open(folder, {"command": "round of a site", "round": round_.name})
    if output.finished(PROBLEMS) and output.finished(VOTES):
        return folder
    votes = []
    with one_moment(), output.write(PROBLEMS) as file:
        for rows in chunks(public_problems()):
            file.writelines(formats.lines(as_public(rows), marked=True))
            votes += list(responses(rows))
    write_votes(votes, folder / VOTES)
    output.add(VOTES)
    return folder


CHUNK = 1000
"""Rows that are written at once, so that others write in between."""


def store(
    round_: Round, found: Found, timings: list[tuple[str, float]], told: Callable[[int], None]
) -> bool:
    """Write what came of a round; return whether it was still running, and is done now.

    Written twice, as after an interrupt, it is there once.

    Args:
        round_: the row.
        found: what `winosmith.rounds.run_round` returned.
        timings: how long each step took.
        told: is called with how many problems are written.
    """
    done = 0
    places = _places(found)
    for chunk in chunked(places, CHUNK):
        numbers = _numbers(old for old, _ in chunk)
        rows = [
            Place(round=round_, problem_id=numbers[old], **fields)
            for old, fields in chunk
            if old in numbers
        ]
        with writing():
            Place.objects.bulk_create(rows, ignore_conflicts=True)
        told(done := done + len(chunk))
    with writing():
        last = round_.last.record if round_.last else None
        return bool(
            Round.objects.filter(pk=round_.pk, state=Round.State.RUNNING).update(
                state=Round.State.DONE,
                busy=False,
                ended=timezone.now(),
                record=dict(found.record),
                changes=list(map(_change, find_changes(found.record, last))),
                timings=[list(timing) for timing in timings],
            )
        )


def _change(change: Change) -> list[Any]:
    return [change.what, change.before, change.now, change.form]


def _places(found: Found) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield for each problem of the pool its id on the site, and what became of it."""
    build = BuildFiles(found.folder / "build")
    verdicts = {
        line["id"]: {"stage": line["stage"], "reason": line["reason"]}
        for line in (*build.dropped(), *build.withheld())
    }
    scores = {line["id"]: _score(line) for line in build.scores()}
    roots = {problem.id: at for at, problem in enumerate(_read(found.folder / "roots.jsonl"))}
    for new, old in build.old_ids().items():
        yield (
            old,
            {
                **verdicts.get(new, {}),
                **scores.get(new, {}),
                "root": roots.get(old),
                "fools": found.record["fooling"].get(old, []),
            },
        )


def _score(line: dict[str, Any]) -> dict[str, Any]:
    if line["score"] is None:
        return {}
    guessed = round(line["score"] * line["votes"])
    return {
        "score": line["score"],
        "guessed": guessed,
        "asked": line["votes"],
        "phase": line["phase"],
    }


def _numbers(ids: Iterable[str]) -> dict[str, int]:
    rows = Problem.objects.filter(ref__in=list(ids))
    return dict(rows.values_list("ref", "pk"))


def _read(path: Path) -> Iterable[Any]:
    return formats.read(path, as_written=True) if path.stat().st_size else ()


_LOG = logging.getLogger("winosmith.web.rounds")


def _carried_out(round_: Round) -> None:
    """Bring a round that waits or runs to its end: done, failed with the reason, or cancelled.

    What an earlier try finished is not done again.
    """
    try:
        _begun(round_)
        _worked(round_)
    except Cancelled:
        return
    except OperationalError:
        raise  # the worker tries again
    except (InputError, OutputError) as error:
        _fail(round_, str(error))
    except Exception as error:  # noqa: BLE001 - the round ends, and an admin learns why
        _LOG.exception("the round %s failed", round_.name)
        _fail(round_, f"{type(error).__name__}: {error}")


def _fail(round_: Round, reason: str) -> None:
    """Write down that a round failed, and why, unless it is over already."""
    with writing():
        Round.objects.filter(pk=round_.pk, busy=True).update(
            state=Round.State.FAILED, busy=False, ended=timezone.now(), error=reason[:2000]
        )


def _begun(round_: Round) -> None:
    with writing():
        locked = Round.objects.select_for_update(no_key=True).get(pk=round_.pk)
        if not locked.busy:
            raise Cancelled
        locked.state = Round.State.RUNNING
        locked.began, locked.doing = locked.began or timezone.now(), {}
        locked.save(update_fields=["state", "began", "doing"])


def _worked(round_: Round) -> None:
    show = Teller(round_, checked_recipe(round_.recipe))
    with show(POOL, None):
        pool = handed_over(round_)
    recipe = recipe_for(round_, pool)
    for rule in recipe.solvers:
        if not rule.learn:
            find_training_data(rule, recipe.folder)
            make_solver(rule, recipe.folder)  # what is not there is reported now, not in an hour
    found = run_round(recipe, round_.folder / "results", last=_last(round_), step=show)
    count = found.record["build"]["funnel"]["collected"]["problems"]
    with show(STORING, count) as advance:
        if not store(round_, found, show.timings, lambda done: advance(done, "")):
            raise Cancelled


def _last(round_: Round) -> str | None:
    """Return the folder of the round that this one is compared with, if it is still there."""
    if round_.last is None:
        return None
    folder = round_.last.folder / "results"
    return str(folder) if (folder / "round.json").exists() else None


def hand_over(round_: Round) -> Job:
    """Let the worker carry a round out; return the job, the same for each round."""
    mark, columns = f"round-{round_.pk}", {"error": "", "tries": 0}
    with writing():
        new = Job(mark=mark, kind=ROUND, asked={"round": round_.pk}, state=Job.State.WAITING)
        Job.objects.bulk_create([new], ignore_conflicts=True)
        job = Job.objects.filter(mark=mark)
        job.update(**columns)
        job.exclude(state__in=BUSY).update(state=Job.State.WAITING)
    return job.get()


def lose(job: Job) -> None:
    """Write down that a round failed because the worker ended during it."""
    _fail(Round.objects.get(pk=job.asked["round"]), _(ENDED))


def carry_out(job: Job) -> None:
    """Carry out the round of a job, in the worker.

    Raises:
        InputError: it failed; the reason is also in its row.
    """
    round_ = Round.objects.select_related("last").get(pk=job.asked["round"])
    if round_.state == Round.State.FAILED:  # an admin retries the job
        again(round_)
    while round_.busy:  # again, if it was cancelled and resumed while it ran
        _carried_out(round_)
        round_.refresh_from_db()
    if round_.state == Round.State.FAILED:
        raise InputError(round_.error)
