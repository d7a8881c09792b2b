"""The process of one model: it leases what waits, predicts in batches, and writes it down.

A model may fill the memory, stand still or crash, so each has a process, which the worker starts
and restarts; a prediction waits for no job and no other model. The solver may be slow, wrong, or
broken over one of its tasks; the others get their predictions. Rows that are leased and have no
prediction are what a process was at when it ended.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from django.conf import settings
from django.db import Error, connection
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext_noop

from winosmith import Problem as Datum
from winosmith.chat import ChatError
from winosmith.errors import DataError, InputError
from winosmith.prediction import best_of
from winosmith.study import MadeSolver
from winosmith.web._lock import writing
from winosmith.web.jobs import SERVER, Child
from winosmith.web.predict import asking
from winosmith.web.predict.asking import TOO_LATE, waiting
from winosmith.web.predict.models import Model, Prediction, Stand
from winosmith.web.problems.models import State

if TYPE_CHECKING:
    from winosmith.solver_rule import SolverRule
    from winosmith.web._site import Site


MOST_TRIES = 3
"""How often a process may end over a problem before the problem is taken for the cause."""

BROKE_DOWN = gettext_noop("The model broke down over this sentence, several times.")


@dataclass(frozen=True)
class Task:
    """One prediction to make.

    Attributes:
        prediction: the number of its row.
        datum: all that the model sees: the sentence, the options, the pronoun. No answer, nothing
            of who wrote it, nor of what it was made from.
        answer: what the contributor says; compared after the model has answered.
        urgent, tries: as in the row.
    """

    prediction: int
    datum: Datum
    answer: int | None
    urgent: bool
    tries: int

    @property
    def input(self) -> str:
        """The digest of what the model is shown, 64 hexadecimal digits."""
        shown = [self.datum.sentence, list(self.datum.options), self.datum.pronoun]
        return hashlib.sha256(json.dumps(shown, ensure_ascii=False).encode()).hexdigest()


@dataclass(frozen=True)
class Outcome:
    """What came of a task.

    Attributes:
        task: which.
        scores: one finite score an option; empty if there is none.
        seconds: how long it took; in a batch, its share.
        error: why there are no scores, in words for people.
        late: that is because it took too long.
    """

    task: Task
    scores: tuple[float, ...] = ()
    seconds: float = 0.0
    error: str = ""
    late: bool = False

    def columns(self) -> dict[str, Any]:
        """Return the columns of the row."""
        told: dict[str, Any] = {
            "seconds": round(self.seconds, 4),
            "answered_at": timezone.now(),
            "leased_until": None,
            "input": self.task.input,
        }
        if not self.scores:
            stand = Stand.LATE if self.late else Stand.FAILED
            return {**told, "stand": stand, "error": TOO_LATE if self.late else self.error}
        best = best_of(self.scores)
        answer, tie = self.task.answer, len(best) > 1
        return {
            **told,
            "stand": Stand.DONE,
            "scores": list(self.scores),
            "choice": best[0],
            "right": None if answer is None or tie else best[0] == answer,
            "tie": tie,
            "error": "",
        }


def turn(model: Model, outcomes: Sequence[Outcome], most: int, seconds: float) -> list[Task]:
    """Write down what came of the last tasks and take up the next ones, in one transaction."""
    if not outcomes:
        return claim(model, most, seconds)
    with writing():
        write_down(model, outcomes)
        return claim(model, most, seconds)


def claim(model: Model, most: int, seconds: float) -> list[Task]:
    """Take up what waits for a model, for so many seconds: urgent rows first, of one urgency.

    What a process ended over before is taken up alone, and after a third time it has failed.
    """
    if not _free(model).exists():
        return []
    with writing():
        rows = list(_locked(_free(model).select_related("problem"))[:most])
        hopeless = [row.pk for row in rows if row.tries >= MOST_TRIES]
        if hopeless:
            waiting(hopeless).update(
                stand=Stand.FAILED, error=BROKE_DOWN, leased_until=None, answered_at=timezone.now()
            )
            rows = [row for row in rows if row.tries < MOST_TRIES]
        if not rows:
            return []
        alike = [row for row in rows if row.urgent == rows[0].urgent and not row.tries]
        rows = rows[:1] if rows[0].tries else alike
        waiting([row.pk for row in rows]).update(
            leased_until=timezone.now() + timedelta(seconds=seconds), tries=rows[0].tries + 1
        )
    return [_task(row) for row in rows]


def write_down(model: Model, outcomes: Sequence[Outcome]) -> None:
    """Write what came of the tasks, all at once; what was decided in the meantime stays."""
    with writing():
        for outcome in outcomes:
            waiting([outcome.task.prediction]).update(**outcome.columns())
        Model.objects.filter(pk=model.pk).update(seen=timezone.now())


def _free(model: Model) -> QuerySet[Prediction]:
    """Return what waits for a model, is leased by nobody, and may be shown to it."""
    waiting = Prediction.objects.filter(model=model, stand=Stand.WAITING)
    return waiting.filter(
        Q(leased_until=None) | Q(leased_until__lt=timezone.now()),
        problem__embargo=False,
        problem__gold=False,
    ).exclude(problem__state=State.WITHDRAWN)


def _locked(rows: QuerySet[Prediction]) -> QuerySet[Prediction]:
    ordered = rows.order_by("-urgent", "tries", "pk")
    if connection.features.has_select_for_update_skip_locked:
        return ordered.select_for_update(skip_locked=True, of=("self",))
    return ordered


def _task(row: Prediction) -> Task:
    problem = row.problem
    datum = Datum(
        problem.ref,
        problem.sentence,
        tuple(problem.options),
        pronoun=problem.record.get("pronoun"),
    )
    return Task(row.pk, datum, problem.answer, row.urgent, row.tries + 1)


LONGEST_BATCH = 0.3
"""Seconds that a batch is meant to take: what somebody waits for who comes after it began."""

MOST_AT_ONCE = 128

_REASONS = (
    (ChatError, gettext_noop("The model's server gave no answer that can be used.")),
    (DataError, gettext_noop("The model gave no usable scores for this sentence.")),
    (InputError, gettext_noop("The model can't read this sentence.")),
    (MemoryError, gettext_noop("The model ran out of memory over this sentence.")),
    (Exception, gettext_noop("The model failed over this sentence.")),
)
"""The messages for people, the most specific first; the log has the error itself."""


Begin = Callable[[Sequence[Task]], None]
"""Called with the tasks that begin now, to set the time within which they must end."""


class Pace:
    """How many problems a batch takes, so that it lasts about as long as it should."""

    def __init__(self, at_once: int = 1) -> None:
        self.least = self.size = at_once

    def note(self, seconds: float, tasks: int) -> None:
        """Learn from a batch: larger next time where it was quick, smaller where it was not."""
        if seconds > LONGEST_BATCH:
            self.size = max(self.least, min(self.size, tasks) // 2)
        elif seconds < LONGEST_BATCH / 3 and tasks >= self.size:
            self.size = min(MOST_AT_ONCE, self.size * 2)


def outcomes(made: MadeSolver, tasks: Sequence[Task], limit: float, begin: Begin) -> list[Outcome]:
    """Ask a solver about some problems.

    Where a batch fails, each of its problems is asked alone, so that one bad sentence costs no
    other its prediction.

    Args:
        made: the solver.
        tasks: at least one.
        limit: seconds; an error after them means that the model was too slow.
        begin: called before each call of the solver.
    """
    if made.at_once > 1:
        begin(tasks)
        with ThreadPoolExecutor(made.at_once) as pool:
            return list(pool.map(lambda task: _alone(made, task, limit), tasks))
    if len(tasks) > 1:
        begin(tasks)
        try:
            return _together(made, tasks)
        except Exception:  # noqa: BLE001 - one by one it shows whose fault it is
            _LOG.info("a batch of %d failed; they are asked one by one", len(tasks))
    found = []
    for task in tasks:
        begin([task])
        found.append(_alone(made, task, limit))
    return found


def _alone(made: MadeSolver, task: Task, limit: float) -> Outcome:
    start = time.monotonic()
    try:
        return _together(made, [task])[0]
    except Exception as error:  # noqa: BLE001 - whatever it is, the others continue
        seconds = time.monotonic() - start
        _LOG.warning("a prediction failed: %s: %s", type(error).__name__, error)
        return Outcome(task, (), seconds, _reason(error), late=seconds >= limit * 0.95)


def _together(made: MadeSolver, tasks: Sequence[Task]) -> list[Outcome]:
    start = time.monotonic()
    given = made.solver.score([task.datum for task in tasks])
    each = (time.monotonic() - start) / len(tasks)
    if len(given) != len(tasks):
        raise DataError(f"the solver gave {len(given)} results for {len(tasks)} problems")
    return [
        Outcome(task, _checked(task, scores), each)
        for task, scores in zip(tasks, given, strict=True)
    ]


def _checked(task: Task, scores: Sequence[float]) -> tuple[float, ...]:
    if len(scores) != len(task.datum.options) or not all(map(math.isfinite, scores)):
        raise DataError("the solver gave no finite score for each option")
    return tuple(map(float, scores))


def _reason(error: Exception) -> str:
    return next(text for kind, text in _REASONS if isinstance(error, kind))


GRACE = 1.0
"""Seconds beyond the limit after which the kernel ends a process."""

OWN_GRACE = 5.0
"""The same for a solver that keeps the time itself, as a chat client does; it is ended only if it
fails to."""

EVERY = 0.2
"""Seconds between two looks of an idle process for work; a look reads one row of an index."""

AWAY = 1.0
"""Seconds until a process tries the database again that it could not reach."""

SWEEP = 60.0
"""Seconds between two looks for problems that were never asked about."""

LONGEST_REST = 1.0
"""Seconds; between batches in the background a process rests as long as one took, at most this."""

GROWTH = 1.5
"""GB that a process may grow, where `memory_gb` does not say; then another takes its place."""

_LOG = logging.getLogger("winosmith.web.predict")


class LoadedModel:
    """A model that is loaded, at work."""

    def __init__(self, site: Site, rule: SolverRule, made: MadeSolver, model: Model) -> None:
        self.made, self.model = made, model
        self.limit = float(site.rules.model_seconds)
        self.pace = Pace(made.at_once)
        self.due = 0.0
        self.found: list[Outcome] = []
        own = getattr(rule.settings, "memory_gb", None)
        self.most = own * 2.0**30 if own else _memory() + GROWTH * 2.0**30

    def work(self) -> None:
        """Predict, until the process has grown too large."""
        while self.found or _memory() < self.most:
            try:
                if not self._step():
                    time.sleep(EVERY)
            except Error as error:  # the database is away: whatever waits, waits on
                _LOG.warning("the model %s has no database: %s", self.model.name, error)
                connection.close()
                time.sleep(AWAY)

    def _step(self) -> bool:
        """Predict one batch; return whether there may be more to do.

        What was predicted last is written in one transaction with the next claim.
        """
        room = self.pace.size if _memory() < self.most else 0
        tasks = turn(self.model, self.found, room, self.limit + 30)
        self.found = []
        if tasks:
            start = time.monotonic()
            self.found = outcomes(self.made, tasks, self.limit, self._begin)
            end_within(0)
            took = time.monotonic() - start
            self.pace.note(took, len(tasks))
            if not tasks[0].urgent:
                write_down(self.model, self.found)
                self.found = []
                time.sleep(min(took, LONGEST_REST))  # pages, and other models, come first
            return True
        if time.monotonic() < self.due:
            return False
        more = asking.fill(self.model) == asking.CHUNK
        self.due = 0.0 if more else time.monotonic() + SWEEP
        return True

    def _begin(self, _tasks: Sequence[Task]) -> None:
        end_within(self.limit + (OWN_GRACE if self.made.at_once > 1 else GRACE))


def end_within(seconds: float) -> None:
    """Let the kernel end this process after some seconds, whatever it is at; 0 for never."""
    signal.setitimer(signal.ITIMER_REAL, seconds)


def _memory() -> float:
    """Return the bytes that this process has in memory; 0 if the system doesn't tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return 0.0
    return float(pages * os.sysconf("SC_PAGE_SIZE"))


CODE = """from winosmith.web import Site
Site.from_environment().activate()
from winosmith.web.predict.process import main
main()
"""

LOADING = 900.0
"""Seconds that a model may take to be loaded, or downloaded."""

PLACE = "models"
"""In the site's folder: what the processes of models keep there."""


def main() -> NoReturn:
    """Predict until the worker ends; the exit code is 1 if the model can't be loaded."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server
    threading.Thread(target=_end_with_worker, name="parent", daemon=True).start()
    end_within(LOADING)
    site = settings.SITE
    loaded = _loaded(site, next(rule for rule in site.rules.models if rule.name == sys.argv[1]))
    end_within(0)
    if loaded is not None:
        loaded.work()
    sys.stderr.flush()
    os._exit(0 if loaded else 1)  # threads of libraries are not waited for


def _end_with_worker() -> None:
    while os.getppid() == int(os.environ[SERVER]):
        time.sleep(EVERY)
    os._exit(0)


def _loaded(site: Site, rule: SolverRule) -> LoadedModel | None:
    """Load the model and register it; None, with the reason written down, where that fails."""
    from winosmith import study

    told = fault_file(site.folder, rule.name)
    try:
        made = study.make_solver(
            rule,
            site.folder,
            cache=site.folder / PLACE / "texts",
            patience=site.rules.model_seconds,
        )
        _warm(made, rule)
        model = asking.register(rule, made)
    except Exception as error:  # noqa: BLE001 - whatever it is, the site continues
        _LOG.error("the model %s can't be loaded: %s: %s", rule.name, type(error).__name__, error)
        told.write_text(f"{error or type(error).__name__}\n")
        with suppress(Exception):
            asking.blame(rule.name, asking.NOT_LOADED)
        return None
    told.unlink(missing_ok=True)
    return LoadedModel(site, rule, made, model)


def _warm(made: MadeSolver, rule: SolverRule) -> None:
    """Ask once, so that weights are loaded before anybody waits; a chat server is not asked."""
    if rule.solver == "chat":
        from winosmith.errors import require

        require("openai", "chat")
        return
    from winosmith import practice

    made.solver.score([practice.read_handwritten()[0].blind()])


def fault_file(folder: Path, name: str) -> Path:
    """Return the file that says why a model can't be loaded, for the site's admin alone."""
    return folder / PLACE / f"{name}.fault"


class ModelProcess(Child):
    """The process of a model, as the worker sees it."""

    def __init__(self, rule: SolverRule) -> None:
        threads = str(getattr(rule.settings, "threads", 1))
        blas = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        super().__init__(
            ["-c", CODE, rule.name],
            {"TOKENIZERS_PARALLELISM": "false", **dict.fromkeys(blas, threads)},
        )
        self.name = rule.name

    def start(self) -> None:
        """Start it, and let pages say that it is being loaded."""
        asking.note_process(self.name, Model.Process.LOADING)
        super().start()

    def ended(self, code: int) -> None:
        """Settle what it was at when it ended."""
        asking.note_process(self.name, Model.Process.STARTING)
        asking.left_behind(self.name, late=code == -signal.SIGALRM)


def watch() -> NoReturn:
    """Start the process of each model of the site, and again whenever it ends."""
    (settings.SITE.folder / PLACE).mkdir(mode=0o700, exist_ok=True)
    processes = [ModelProcess(rule) for rule in settings.SITE.rules.models]
    while True:
        for process in processes:
            try:
                process.look_after()
            except Exception:  # noqa: BLE001 - it is looked after again in a moment
                _LOG.exception("the model %s could not be looked after", process.name)
                connection.close()
        time.sleep(EVERY)
