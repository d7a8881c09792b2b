"""The process of one model, which predicts in batches.

A model may fill the memory, hang or crash, so each model has its own process, which the worker
starts and restarts; predictions don't wait for jobs or other models. If the solver is slow or fails
on a task, other tasks still get their predictions. If a process ends, the leased predictions
without a result are those on which it was working.
"""

from __future__ import annotations

import logging
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from django.conf import settings
from django.db import Error, connection
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext_noop

from winosmith.chat import ChatError
from winosmith.errors import DataError, InputError, require
from winosmith.study import MadeSolver
from winosmith.web._lock import writing
from winosmith.web.jobs import SERVER, Child
from winosmith.web.predict import asking
from winosmith.web.predict.asking import TOO_LATE, get_waiting_predictions
from winosmith.web.predict.models import Model, Prediction, Status
from winosmith.web.problems.models import State

if TYPE_CHECKING:
    from winosmith.solver_rule import SolverRule
    from winosmith.web._site import Site


MAX_TRIES = 3
"""Number of process crashes on a problem after which its prediction is marked as failed."""

CRASHED = gettext_noop("The model crashed several times on this sentence.")


def claim_tasks(model: Model, max_tasks: int, lease_seconds: float) -> list[Prediction]:
    """Lease a model's waiting predictions, urgent ones first.

    Tasks during which a process ended are claimed one at a time, and fail after the third attempt.
    """
    if not _get_claimable_predictions(model).exists():
        return []
    with writing():
        waiting = _get_claimable_predictions(model).select_related("problem")
        waiting = waiting.order_by("-urgent", "tries", "pk")
        rows = list(waiting.select_for_update(skip_locked=True, of=("self",))[:max_tasks])
        exhausted = [row.pk for row in rows if row.tries >= MAX_TRIES]
        if exhausted:
            get_waiting_predictions(exhausted).update(
                stand=Status.FAILED, error=CRASHED, leased_until=None, answered_at=timezone.now()
            )
            rows = [row for row in rows if row.tries < MAX_TRIES]
        if not rows:
            return []
        same_urgency = [row for row in rows if row.urgent == rows[0].urgent and not row.tries]
        rows = rows[:1] if rows[0].tries else same_urgency
        get_waiting_predictions([row.pk for row in rows]).update(
            leased_until=timezone.now() + timedelta(seconds=lease_seconds), tries=rows[0].tries + 1
        )
    return rows


RESULT_FIELDS = ("stand", "scores", "choice", "right", "tie", "input", "seconds", "error")


def store_results(tasks: Sequence[Prediction]) -> None:
    with writing():
        for task in tasks:
            result = {name: getattr(task, name) for name in RESULT_FIELDS}
            get_waiting_predictions([task.pk]).update(
                **result, answered_at=timezone.now(), leased_until=None
            )


def _get_claimable_predictions(model: Model) -> QuerySet[Prediction]:
    waiting = Prediction.objects.filter(model=model, stand=Status.WAITING)
    return waiting.filter(
        Q(leased_until=None) | Q(leased_until__lt=timezone.now()),
        problem__embargo=False,
        problem__gold=False,
    ).exclude(problem__state=State.WITHDRAWN)


TARGET_SECONDS = 0.3
"""Target duration of a batch in seconds; an urgent task may have to wait this long."""

MAX_BATCH = 128

_REASONS = (
    (ChatError, gettext_noop("The model's server returned no usable answer.")),
    (DataError, gettext_noop("The model returned no usable scores for this sentence.")),
    (InputError, gettext_noop("The model can't read this sentence.")),
    (MemoryError, gettext_noop("The model ran out of memory on this sentence.")),
    (Exception, gettext_noop("The model failed on this sentence.")),
)
"""Messages for users, the most specific first; the log contains the error itself."""


OnStart = Callable[[Sequence[Prediction]], None]
"""Function that is called with the tasks that are about to start, to set their time limit."""


def adapt_batch_size(size: int, seconds: float, tasks: int, *, minimum: int) -> int:
    """Return the size of the next batch, so that each batch takes about `TARGET_SECONDS`.

    `seconds` is the duration of the last batch, and `tasks` is its actual size.
    """
    if seconds > TARGET_SECONDS:
        return max(minimum, min(size, tasks) // 2)
    if seconds < TARGET_SECONDS / 3 and tasks >= size:
        return min(MAX_BATCH, size * 2)
    return size


def predict_tasks(
    made_solver: MadeSolver, tasks: Sequence[Prediction], limit: float, on_start: OnStart
) -> None:
    """Set the results of some tasks; call `on_start` before each call of the solver.

    If a batch fails, its problems are solved one at a time, so a bad sentence affects only itself.
    An error after `limit` seconds counts as a timeout.
    """
    if made_solver.concurrency > 1:
        on_start(tasks)
        with ThreadPoolExecutor(made_solver.concurrency) as pool:
            list(pool.map(lambda task: _predict_one(made_solver, task, limit), tasks))
        return
    if len(tasks) > 1:
        on_start(tasks)
        try:
            _predict_batch(made_solver, tasks)
            return
        except Exception:  # noqa: BLE001 - retried one at a time
            _LOG.info("a batch of %d failed; its problems are solved one at a time", len(tasks))
    for task in tasks:
        on_start([task])
        _predict_one(made_solver, task, limit)


def _predict_one(made_solver: MadeSolver, task: Prediction, limit: float) -> None:
    start = time.monotonic()
    try:
        _predict_batch(made_solver, [task])
    except Exception as error:  # noqa: BLE001 - the others continue
        seconds = time.monotonic() - start
        _LOG.warning("a prediction failed: %s: %s", type(error).__name__, error)
        reason = next(text for kind, text in _REASONS if isinstance(error, kind))
        late = seconds >= limit * 0.95
        task.fail(TOO_LATE if late else reason, seconds, late=late)


def _predict_batch(made_solver: MadeSolver, tasks: Sequence[Prediction]) -> None:
    start = time.monotonic()
    results = made_solver.solver.score([task.model_input for task in tasks])
    seconds = (time.monotonic() - start) / len(tasks)
    if len(results) != len(tasks):
        raise DataError(f"the solver returned {len(results)} results for {len(tasks)} problems")
    pairs = list(zip(tasks, results, strict=True))
    for task, scores in pairs:
        if len(scores) != len(task.problem.options) or not all(map(math.isfinite, scores)):
            raise DataError("the solver must return a finite score for each option")
    for task, scores in pairs:
        task.complete(list(map(float, scores)), seconds)


GRACE = 1.0
"""Number of seconds between the time limit and the time when the kernel kills a process."""

SOLVER_GRACE = 5.0
"""The same as `GRACE`, for a solver with its own timeout, such as a chat client. The process is
ended only if the solver's timeout fails."""

POLL_SECONDS = 0.2
"""Seconds between an idle process's polls for work; a poll reads one row of an index."""

RETRY_SECONDS = 1.0
"""Seconds until a process retries an unavailable database."""

SWEEP_SECONDS = 60.0
"""Seconds between searches for problems without a prediction."""

MAX_PAUSE = 1.0
"""Maximum pause in seconds after a background batch. The pause is as long as the batch took, up to
this limit."""

GROWTH_GB = 1.5
"""Memory growth in GB after which a process is replaced, if `memory_gb` is not set."""

_LOG = logging.getLogger("winosmith.web.predict")


class LoadedModel:
    def __init__(self, site: Site, rule: SolverRule, made: MadeSolver, model: Model) -> None:
        self.made, self.model = made, model
        self.limit = float(site.rules.model_seconds)
        self.batch_size = made.concurrency
        self.next_sweep = 0.0
        self.finished: list[Prediction] = []
        limit_gb = getattr(rule.settings, "memory_gb", None)
        self.max_bytes = limit_gb * 2.0**30 if limit_gb else _measure_memory() + GROWTH_GB * 2.0**30

    def run(self) -> None:
        """Predict until the process uses too much memory."""
        while self.finished or _measure_memory() < self.max_bytes:
            try:
                if not self._predict_next_batch():
                    time.sleep(POLL_SECONDS)
            except Error as error:  # the database is unavailable; the tasks stay waiting
                _LOG.warning("the model %s can't use the database: %s", self.model.name, error)
                connection.close()
                time.sleep(RETRY_SECONDS)

    def _predict_next_batch(self) -> bool:
        room = self.batch_size if _measure_memory() < self.max_bytes else 0
        with writing() if self.finished else nullcontext():
            if self.finished:
                store_results(self.finished)
            tasks = claim_tasks(self.model, room, self.limit + 30)
        self.finished = []
        if tasks:
            start = time.monotonic()
            limit = self.limit + (SOLVER_GRACE if self.made.concurrency > 1 else GRACE)
            predict_tasks(self.made, tasks, self.limit, lambda _tasks: set_time_limit(limit))
            set_time_limit(0)
            self.finished = tasks
            took = time.monotonic() - start
            self.batch_size = adapt_batch_size(
                self.batch_size, took, len(tasks), minimum=self.made.concurrency
            )
            if not tasks[0].urgent:
                store_results(tasks)
                self.finished = []
                time.sleep(min(took, MAX_PAUSE))  # pages and other models have priority
            return True
        if time.monotonic() < self.next_sweep:
            return False
        more = asking.queue_unseen_problems(self.model) == asking.CHUNK
        self.next_sweep = 0.0 if more else time.monotonic() + SWEEP_SECONDS
        return True


def set_time_limit(seconds: float) -> None:
    """Let the kernel end this process after a number of seconds; 0 cancels the timer."""
    signal.setitimer(signal.ITIMER_REAL, seconds)


def _measure_memory() -> float:
    """Return the memory usage of this process in bytes; 0 if unknown."""
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

MAX_LOADING_SECONDS = 900.0
"""Maximum number of seconds for downloading and loading a model."""

MODEL_FOLDER = "models"
"""Subfolder of the site's folder for the files of model processes."""


def main() -> NoReturn:
    """Predict until the worker ends; the exit code is 1 if the model can't be loaded."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server
    threading.Thread(target=_exit_when_worker_ends, name="parent", daemon=True).start()
    set_time_limit(MAX_LOADING_SECONDS)
    site = settings.SITE
    loaded = _load_model(site, next(rule for rule in site.rules.models if rule.name == sys.argv[1]))
    set_time_limit(0)
    if loaded is not None:
        loaded.run()
    sys.stderr.flush()
    os._exit(0 if loaded else 1)  # threads of libraries are not waited for


def _exit_when_worker_ends() -> None:
    while os.getppid() == int(os.environ[SERVER]):
        time.sleep(POLL_SECONDS)
    os._exit(0)


def _load_model(site: Site, rule: SolverRule) -> LoadedModel | None:
    """Load a model and register it; if this fails, store the reason and return None."""
    from winosmith import practice, study

    try:
        made = study.make_solver(
            rule,
            site.folder,
            cache=site.folder / MODEL_FOLDER / "texts",
            timeout=site.rules.model_seconds,
        )
        if rule.solver == "chat":
            require("openai", "chat")
        else:  # loads the weights
            made.solver.score([practice.read_handwritten()[0].blind()])
        model = asking.register_revision(rule, made)
    except Exception as error:  # noqa: BLE001 - whatever it is, the site continues
        _LOG.error("the model %s can't be loaded: %s: %s", rule.name, type(error).__name__, error)
        with suppress(Exception):
            asking.update_model(rule.name, fault=asking.NOT_LOADED)
        return None
    return LoadedModel(site, rule, made, model)


class ModelProcess(Child):
    def __init__(self, rule: SolverRule) -> None:
        threads = str(getattr(rule.settings, "threads", 1))
        blas = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        super().__init__(
            ["-c", CODE, rule.name],
            {"TOKENIZERS_PARALLELISM": "false", **dict.fromkeys(blas, threads)},
        )
        self.name = rule.name

    def start(self) -> None:
        asking.update_model(self.name, process=Model.Process.LOADING)
        super().start()

    def on_exit(self, code: int) -> None:
        asking.update_model(self.name, process=Model.Process.STARTING)
        asking.release_tasks(self.name, timed_out=code == -signal.SIGALRM)


def manage_processes() -> NoReturn:
    (settings.SITE.folder / MODEL_FOLDER).mkdir(mode=0o700, exist_ok=True)
    processes = [ModelProcess(rule) for rule in settings.SITE.rules.models]
    while True:
        for process in processes:
            try:
                process.restart_if_ended()
            except Exception:  # noqa: BLE001 - retried in a moment
                _LOG.exception("managing the process of model %s failed", process.name)
                connection.close()
        time.sleep(POLL_SECONDS)
