"""Starting, running, cancelling and publishing rounds.

The recipe of a round consists of the site's own settings, or comes from a file for `winosmith
round`, such as one in `recipes/`. The site's worker runs the round as a job, and stores its
progress in the round's row.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import IntegrityError, OperationalError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from winosmith import formats
from winosmith.errors import InputError, OutputError
from winosmith.finished import BuildFiles
from winosmith.outputs import OutputFolder
from winosmith.parallel import Advance
from winosmith.records import read_toml
from winosmith.rounds import Round as Found, RoundRecipe, pair_results, parse_round, run_round
from winosmith.study import find_training_data, make_solver
from winosmith.validate import write_votes
from winosmith.web._lock import chunked, writing
from winosmith.web._site import RECIPE_NAME, RECIPES
from winosmith.web.exporting import iter_chunks, read_snapshot
from winosmith.web.jobs import BUSY_STATES, ROUND, WORKER_ENDED, Job, Progress, are_rounds_idle
from winosmith.web.judge.votes import get_vote_rules, iter_responses
from winosmith.web.people.models import Person
from winosmith.web.problems.models import Problem
from winosmith.web.problems.records import as_public
from winosmith.web.problems.states import get_public_problems
from winosmith.web.rounds.models import Place, Round

PROBLEMS, VOTES = "problems.jsonl", "votes.jsonl"
"""Files of a pool. If there are no votes, the votes file is empty."""

SITE_KEYS = ("name", "data", "format", "votes_file")
"""Keys of a recipe that the site sets itself."""

LEARNER = {"name": "taught-words", "solver": "association", "learn": True}
"""An additional solver: word association, trained on each round's train_xl."""


def list_recipes() -> list[str]:
    folder = Path(settings.SITE.folder, RECIPES)
    return sorted(path.stem for path in folder.glob("*.toml") if RECIPE_NAME.fullmatch(path.stem))


def read_recipe(path: str | Path) -> tuple[dict[str, Any], str]:
    """Return the table and the folder of a recipe, given its path or a name from `list_recipes`."""
    if path in list_recipes():
        path = Path(settings.SITE.folder, RECIPES, f"{path}.toml")
    return read_toml(path), str(Path(path).resolve().parent)


def complete_recipe(table: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Complete a recipe table with the round's name and the site's defaults.

    The site's judges and moderators have already decided which problems are valid. Therefore, votes
    only measure agreement and drop no problems, unless the recipe has its own rules.
    """
    filled = {key: value for key, value in table.items() if key not in SITE_KEYS}
    rules = get_vote_rules()
    off = dict.fromkeys(("correct", "unambiguous", "unassociated", "local"), "off")
    filled.setdefault(
        "votes",
        {"judges": rules.judges, "both_halves": rules.both_halves, "undecided": "keep", **off},
    )
    if "solvers" not in filled:
        # Chat models are omitted, because they may cost money; a recipe must name them.
        filled["solvers"] = [
            {"name": rule.name, "solver": rule.solver, **rule.options}
            for rule in settings.RULES.models
            if rule.solver != "chat"
        ]
        if all(table["name"] != LEARNER["name"] for table in filled["solvers"]):
            filled["solvers"].append(dict(LEARNER))
    return {"name": name, **filled}


def validate_recipe(table: Mapping[str, Any]) -> RoundRecipe:
    """Validate a complete recipe table before the pool exists."""
    return parse_round({**table, "data": PROBLEMS, "votes_file": VOTES})


MIN_PROBLEMS = 20
"""Minimum number of public problems for training, test and measurement."""

NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")


def suggest_next_name() -> str:
    number = Round.objects.count() + 1
    while Round.objects.filter(name=f"round-{number}").exists():
        number += 1
    return f"round-{number}"


def create_round(
    name: str, table: Mapping[str, Any], base: str = "", actor: Person | None = None
) -> Round:
    """Create and queue a round, which will be compared with the last published round.

    `complete_recipe` completes `table`. Relative paths in the table refer to the folder `base`; ""
    is the site's folder. `actor` is None for a command.
    """
    if not NAME.fullmatch(name):
        raise InputError(_("Use up to 40 lower-case letters, digits and dashes for the name."))
    filled = complete_recipe(table, name)
    validate_recipe(filled)
    with writing():
        round_ = Round(name=name, recipe=filled, base=base, started_by=actor)
        if Round.objects.filter(name=name).exists() or round_.folder.exists():
            raise InputError(_("A round with this name already exists; choose another name."))
        count = get_public_problems().count()
        if count < MIN_PROBLEMS:
            raise InputError(
                _("A round needs %(least)d public problems; there are %(count)d.")
                % {"least": MIN_PROBLEMS, "count": count}
            )
        _raise_if_busy()
        round_.last = Round.get_last_published()
        _save_and_queue(round_)
    return round_


def cancel_round(round_: Round) -> None:
    """Cancel a waiting or running round, with its job.

    Finished steps are kept. The worker stops a running round at its next progress update.
    """
    with writing():
        locked = _lock_round(round_)
        if not locked.busy:
            raise InputError(_("The round has already ended."))
        locked.state, locked.busy = Round.State.CANCELLED, False
        locked.ended = timezone.now()
        locked.save(update_fields=["state", "busy", "ended"])
        job = Job.objects.filter(mark=_get_job_mark(locked), state__in=BUSY_STATES)
        job.update(state=Job.State.STOPPED, ended=locked.ended)


def resume_round(round_: Round) -> None:
    """Resume a failed or cancelled round, with the same pool."""
    with writing():
        locked = _lock_round(round_)
        if locked.state not in (Round.State.FAILED, Round.State.CANCELLED):
            raise InputError(_("Only a failed or cancelled round can be resumed."))
        _raise_if_busy()
        locked.state, locked.busy = Round.State.WAITING, True
        locked.error, locked.ended = "", None
        _save_and_queue(locked)


def publish_round(actor: Person | None, round_: Round) -> None:
    """Publish a round's results; contributors then see which of their problems it omitted."""
    if actor is not None and not (actor.is_active and actor.is_superuser):
        raise InputError(_("Only admins can publish rounds."))
    with writing():
        locked = _lock_round(round_)
        if locked.state != Round.State.DONE:
            raise InputError(_("The round is not finished; there is nothing to publish yet."))
        if locked.published:
            raise InputError(_("The round has already been published."))
        locked.published, locked.published_by = timezone.now(), actor
        locked.save(update_fields=["published", "published_by"])


def _raise_if_busy() -> None:
    busy = Round.objects.filter(busy=True).first()
    if busy is not None:
        raise InputError(
            _("The round %s is not finished; wait for it, or cancel it first.") % busy.name
        )


def _save_and_queue(round_: Round) -> None:
    try:
        with transaction.atomic():
            round_.save()
            queue_round(round_)
    except IntegrityError:  # on PostgreSQL, a concurrent request was faster
        raise InputError(
            _("Another round, or a round with this name, has just been started.")
        ) from None


def _lock_round(round_: Round) -> Round:
    """Lock the rows of a round and of its job, in the same order as `Job.stop`."""
    Job.objects.select_for_update(no_key=True).filter(mark=_get_job_mark(round_)).first()
    return Round.objects.select_for_update(no_key=True).get(pk=round_.pk)


EXPORTING, STORING = "exporting the public problems", "storing the results"
"""The first and the last step; `winosmith.rounds.run_round` runs the steps in between."""

UPDATE_SECONDS = 1.0
"""Minimum number of seconds between progress updates."""


class RoundCancelledError(Exception): ...


class ProgressReporter:
    """A reporter that stores a round's progress.

    Attributes:
        doing: The progress of the current step: its title `step`; its `number`, from 1, `of` all
            steps; `done` and `total`, which is None if unknown; a `note` for the page, such as the
            phase; and its start `since`, in seconds since 1970.
    """

    def __init__(self, round_: Round, recipe: RoundRecipe) -> None:
        self.round = round_
        building = ["reading", "checking", "embedding", "filtering", "measuring", "writing"]
        solving = [f"solving with {rule.name}" for rule in recipe.solvers]
        self.steps = [EXPORTING, *building, *solving, "measuring", "writing", STORING]
        self.step_index = -1
        self.doing: dict[str, Any] = {"of": len(self.steps)}
        self.due = 0.0

    @contextmanager
    def __call__(self, title: str, total: int | None) -> Iterator[Advance]:
        """Start a step (`winosmith.parallel.Step`).

        Raises a RoundCancelledError if the round was cancelled.
        """
        # Steps may be skipped.
        later = [n for n in range(self.step_index + 1, len(self.steps)) if self.steps[n] == title]
        self.step_index = later[0] if later else self.step_index
        self.doing |= {"step": title, "number": self.step_index + 1, "since": time.time()}
        self.doing |= {"done": 0, "total": total, "note": ""}
        self._update_row(doing=self.doing)
        yield self._report_progress

    def _report_progress(self, done: int, note: str) -> None:
        self.doing |= {"done": done, "note": note}
        if time.monotonic() >= self.due:
            self.due = time.monotonic() + UPDATE_SECONDS
            self._update_row(doing=self.doing)

    def _update_row(self, **changes: object) -> None:
        running = Round.objects.filter(pk=self.round.pk, state=Round.State.RUNNING)
        with writing():
            if not running.update(**changes):
                raise RoundCancelledError


def get_round_progress(round_: Round) -> dict[str, Any] | None:
    """Return the progress of a waiting or running round; None for other rounds.

    `at_work` is False if no process runs the round, such as after an interruption. Once the first
    step has started, the result also contains `ProgressReporter.doing`, with the step's start
    as a time. `percent` is then the percentage of finished work, with equal weights for all steps.
    """
    if not round_.busy:
        return None
    if are_rounds_idle() or not round_.doing:
        return {"at_work": not are_rounds_idle()}
    doing = round_.doing
    share = min(1.0, doing["done"] / doing["total"]) if doing["total"] else 0.0
    return {
        **doing,
        "at_work": True,
        "percent": round(100 * (doing["number"] - 1 + share) / max(doing["of"], 1)),
        "since": datetime.fromtimestamp(doing["since"], UTC),
    }


def write_pool(round_: Round) -> Path:
    """Write the pool of a round unless it exists, and return its folder.

    Problems, votes and lineages come from one consistent snapshot, with pseudonyms for people. A
    resumed round keeps its original pool.
    """
    folder = round_.folder / "pool"
    output = OutputFolder.open(folder, {"command": "round of a site", "round": round_.name})
    if output.is_finished(PROBLEMS) and output.is_finished(VOTES):
        return folder
    votes = []
    with read_snapshot(), output.write(PROBLEMS) as file:
        for rows in iter_chunks(get_public_problems()):
            file.writelines(formats.to_lines(as_public(rows), marked=True))
            votes += list(iter_responses(rows))
    write_votes(votes, folder / VOTES)
    output.add(VOTES)
    return folder


CHUNK = 1000
"""Number of rows per transaction, so that others can write in between."""


def store_results(round_: Round, result: Found, on_progress: Callable[[int], None]) -> bool:
    """Store the results of a round; return False if the round was no longer running.

    The call can be repeated after an interruption.
    """
    done = 0
    places = _iter_place_fields(result)
    for chunk in chunked(places, CHUNK):
        known = Problem.objects.filter(ref__in=[old for old, _ in chunk])
        numbers = dict(known.values_list("ref", "pk"))
        rows = [
            Place(round=round_, problem_id=numbers[old], **fields)
            for old, fields in chunk
            if old in numbers
        ]
        with writing():
            Place.objects.bulk_create(rows, ignore_conflicts=True)
        on_progress(done := done + len(chunk))
    with writing():
        last = round_.last.record if round_.last else None
        return bool(
            Round.objects.filter(pk=round_.pk, state=Round.State.RUNNING).update(
                state=Round.State.DONE,
                busy=False,
                ended=timezone.now(),
                record=dict(result.record),
                changes=[
                    [change.name, change.old, change.new, change.format_spec]
                    for change in pair_results(result.record, last)
                ],
            )
        )


def _iter_place_fields(result: Found) -> Iterator[tuple[str, dict[str, Any]]]:
    build = BuildFiles(result.folder / "build")
    verdicts = {
        line["id"]: {"stage": line["stage"], "reason": line["reason"]}
        for line in (*build.read_dropped(), *build.read_withheld_records())
    }
    scores = {
        line["id"]: {
            "score": line["score"],
            "guessed": round(line["score"] * line["votes"]),
            "asked": line["votes"],
            "phase": line["phase"],
        }
        for line in build.read_scores()
        if line["score"] is not None
    }
    path = result.folder / "roots.jsonl"
    drawn = formats.read(path, as_written=True) if path.stat().st_size else ()
    roots = {problem.id: at for at, problem in enumerate(drawn)}
    for new, old in build.read_pool_ids().items():
        fields = {"root": roots.get(old), "fools": result.record["fooling"].get(old, [])}
        yield old, {**verdicts.get(new, {}), **scores.get(new, {}), **fields}


_LOG = logging.getLogger("winosmith.web.rounds")


def _mark_failed(round_: Round, reason: str) -> None:
    with writing():
        Round.objects.filter(pk=round_.pk, busy=True).update(
            state=Round.State.FAILED, busy=False, ended=timezone.now(), error=reason[:2000]
        )


def _run_steps(round_: Round) -> None:
    with writing():
        locked = Round.objects.select_for_update(no_key=True).get(pk=round_.pk)
        if not locked.busy:
            raise RoundCancelledError
        locked.state = Round.State.RUNNING
        locked.began, locked.doing = locked.began or timezone.now(), {}
        locked.save(update_fields=["state", "began", "doing"])
    show = ProgressReporter(round_, validate_recipe(round_.recipe))
    with show(EXPORTING, None):
        pool = write_pool(round_)
    files = {"data": str(pool / PROBLEMS)}
    if (pool / VOTES).stat().st_size:
        files["votes_file"] = str(pool / VOTES)
    folder = Path(round_.base or settings.SITE.folder)
    recipe = parse_round({**round_.recipe, **files}, folder=folder)
    for rule in recipe.solvers:
        if not rule.learn:
            find_training_data(rule, recipe.folder)
            make_solver(rule, recipe.folder)  # reports missing files before the build
    last = round_.last and round_.last.folder / "results"
    if last is not None and not (last / "round.json").exists():
        last = None
    found = run_round(recipe, round_.folder / "results", last=last, step=show)
    count = found.record["build"]["funnel"]["collected"]["problems"]
    with show(STORING, count) as advance:
        if not store_results(round_, found, lambda done: advance(done, "")):
            raise RoundCancelledError


def _get_job_mark(round_: Round) -> str:
    return f"round-{round_.pk}"


def queue_round(round_: Round) -> Job:
    """Queue the job of a round. All attempts share one job."""
    mark = _get_job_mark(round_)
    with writing():
        columns = {"kind": ROUND, "asked": {"name": round_.name}, "actor": round_.started_by}
        Job.objects.get_or_create(mark=mark, defaults={**columns, "state": Job.State.WAITING})
        job = Job.objects.filter(mark=mark)
        job.update(error="", tries=0)
        job.exclude(state__in=BUSY_STATES).update(state=Job.State.WAITING)
    return job.get()


def find_round(job: Job) -> Round:
    return Round.objects.select_related("last").get(name=job.asked["name"])


def fail_lost_round(job: Job) -> None:
    """Mark a job's round as failed because the worker ended while running it."""
    _mark_failed(find_round(job), _(WORKER_ENDED))


def run_job(job: Job, progress: Progress) -> None:
    round_ = find_round(job)
    if round_.state in (Round.State.FAILED, Round.State.CANCELLED):  # an admin retried the job
        progress(0)
        resume_round(round_)
        round_.refresh_from_db()
    while round_.busy:  # runs again if it was cancelled and resumed in the meantime
        try:
            _run_steps(round_)
        except RoundCancelledError:
            pass
        except OperationalError:
            raise  # the worker tries again
        except (InputError, OutputError) as error:
            _mark_failed(round_, str(error))
        except Exception as error:  # noqa: BLE001 - stored for the admin
            _LOG.exception("the round %s failed", round_.name)
            _mark_failed(round_, f"{type(error).__name__}: {error}")
        round_.refresh_from_db()
    if round_.state == Round.State.FAILED:
        raise InputError(round_.error)
