"""Actions on many problems: in chunks, which can be resumed and are done once."""

from typing import Any

import pytest

from tests.web.making import fresh
from tests.web.working import work_off
from winosmith.errors import InputError
from winosmith.web import jobs
from winosmith.web.jobs import Job
from winosmith.web.moderate.batches import (
    CHUNK,
    apply_to_matching,
    get_newest_event_and_problem,
    undo_batch,
)
from winosmith.web.moderate.queue import QueueFilters
from winosmith.web.problems.models import Event, Problem


def _start_batch(person: Any, action: str, query: str, reason: str = "a sweep") -> Any:
    where = QueueFilters.read(query)
    return apply_to_matching(
        person, action, where, reason, newest=get_newest_event_and_problem(), expected=2 * CHUNK
    )


def test_batch_changes_all_matching_problems_in_chunks(eva, twin):
    for _ in range(50):
        twin(domain="social")
    twin(domain="physical")
    batch = _start_batch(eva, "let-through", "state=held&domain=social")
    assert (batch.is_busy, batch.done, batch.job.done) == (True, CHUNK, CHUNK)
    work_off()
    assert (fresh(batch).is_busy, batch.done, batch.left_count) == (False, 100, 0)
    assert Problem.objects.filter(state="judging", twin__domain="social").count() == 100
    assert Problem.objects.filter(state="held").count() == 2
    assert Event.objects.filter(batch=batch.mark).count() == 100


def test_small_batch_runs_without_the_worker(eva, twin):
    half = twin()[0]
    batch = _start_batch(eva, "withdraw", "state=held")
    assert (fresh(half).state, batch.job, batch.done) == ("withdrawn", None, 2)
    assert not Job.objects.exists()


def test_batch_skips_problems_added_or_changed_since(max_, eva, twin, do):
    """Only those that changed are reported."""
    for _ in range(CHUNK // 2):
        twin(state="judging")
    early, changed = twin()[0], twin(state="valid")[0]
    batch = _start_batch(eva, "withdraw", "state=")
    late = twin()[0]
    do(max_, "reject", changed)
    work_off()
    states = [fresh(half).state for half in (early, changed, late)]
    assert states == ["withdrawn", "rejected", "held"]
    assert [changed.ref, "it has changed since"] in fresh(batch).left


@pytest.fixture
def killed(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that interrupts the worker after one more chunk of a batch."""

    def run() -> None:
        calls = []

        def store_progress(job: Job, done: int) -> None:
            calls.append(done)
            if len(calls) > 1:
                raise KeyboardInterrupt
            Job.objects.filter(pk=job.pk).update(done=done)

        with monkeypatch.context() as patch:
            patch.setattr(jobs, "_store_progress", store_progress)
            with pytest.raises(KeyboardInterrupt):
                work_off()

    return run


def test_interrupted_batch_resumes_and_repeats_nothing(eva, twin, killed):
    for _ in range(2 * CHUNK):
        twin()
    batch = _start_batch(eva, "let-through", "state=held")
    killed()
    assert (fresh(batch).is_busy, batch.done) == (True, 2 * CHUNK)
    work_off()
    assert (fresh(batch).is_busy, batch.done, batch.job.state) == (False, 4 * CHUNK, "done")
    events = Event.objects.filter(batch=batch.mark)
    assert events.count() == events.values("problem").distinct().count() == 4 * CHUNK


def test_stopped_batch_can_be_resumed_or_undone(max_, eva, twin):
    """Any moderator can do so, but an undone batch can't be resumed."""
    for _ in range(CHUNK):
        twin()
    batch = _start_batch(eva, "let-through", "state=held")
    with pytest.raises(InputError, match="Only a finished action"):
        undo_batch(eva, batch, "too soon")
    batch.job.stop(max_)
    work_off()
    assert fresh(batch).done == CHUNK
    batch.job.retry(max_)
    work_off()
    assert (fresh(batch).done, batch.is_busy) == (2 * CHUNK, False)
    batch = _start_batch(eva, "hold", "state=judging")
    batch.job.stop(max_)
    undone = undo_batch(max_, batch, "by mistake")
    work_off()
    batch.job.retry(eva)
    work_off()
    assert fresh(undone).done == CHUNK
    assert Problem.objects.filter(state="judging").count() == 2 * CHUNK
    assert fresh(batch.job).error == "This action has already been undone."


def test_action_without_problems_is_refused(eva, do):
    with pytest.raises(InputError, match="at least one"):
        do(eva, "withdraw")


def test_batch_stops_when_its_moderator_is_demoted(eva, twin):
    for _ in range(CHUNK // 2 + 1):
        half = twin()[0]
    batch = _start_batch(eva, "withdraw", "state=held")
    eva.is_moderator = False
    eva.save()
    work_off()
    assert (fresh(half).state, fresh(batch).done, batch.left_count) == ("held", CHUNK, 2)
