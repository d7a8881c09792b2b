"""The same to many problems: counted, in chunks, resumed, once."""

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

pytestmark = pytest.mark.usefixtures("db")


def _begin(person: Any, action: str, query: str, reason: str = "a sweep") -> Any:
    where = QueueFilters.read(query)
    return apply_to_matching(
        person, action, where, reason, newest=get_newest_event_and_problem(), expected=2 * CHUNK
    )


def test_all_that_match_are_done_under_one_mark(eva: Any, twin: Any) -> None:
    """A hundred held problems are let through in chunks under one mark; others stay."""
    for _ in range(50):
        twin(domain="social")
    twin(domain="physical")
    batch = _begin(eva, "let-through", "state=held&domain=social")
    assert (batch.is_busy, batch.done, batch.job.done) == (True, CHUNK, CHUNK)
    work_off()
    assert (fresh(batch).is_busy, batch.done, batch.left_count) == (False, 100, 0)
    assert Problem.objects.filter(state="judging", twin__domain="social").count() == 100
    assert Problem.objects.filter(state="held").count() == 2
    assert Event.objects.filter(batch=batch.mark).count() == 100


def test_few_are_done_with_the_form(eva: Any, twin: Any) -> None:
    """An action on fewer than a chunk is done at once, and asks the worker for nothing."""
    half = twin()[0]
    batch = _begin(eva, "withdraw", "state=held")
    assert (fresh(half).state, batch.job, batch.done) == ("withdrawn", None, 2)
    assert not Job.objects.exists()


def test_what_came_or_changed_after_the_confirmation_is_left_alone(
    max_: Any, eva: Any, twin: Any, do: Any
) -> None:
    """Problems submitted after the count are not meant; those that changed are named."""
    for _ in range(CHUNK // 2):
        twin(state="judging")
    early, changed = twin()[0], twin(state="valid")[0]
    batch = _begin(eva, "withdraw", "state=")
    late = twin()[0]
    do(max_, "reject", changed)
    work_off()
    states = [fresh(half).state for half in (early, changed, late)]
    assert states == ["withdrawn", "rejected", "held"]
    assert [changed.ref, "it has changed since"] in fresh(batch).left


@pytest.fixture
def killed(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return what lets the worker do one more chunk of a batch and end in the next one."""

    def run() -> None:
        calls = []

        def tell(job: Job, done: int) -> None:
            calls.append(done)
            if len(calls) > 1:
                raise KeyboardInterrupt
            Job.objects.filter(pk=job.pk).update(done=done)

        with monkeypatch.context() as patch:
            patch.setattr(jobs, "_store_progress", tell)
            with pytest.raises(KeyboardInterrupt):
                work_off()

    return run


def test_an_interrupted_batch_goes_on(eva: Any, twin: Any, killed: Any) -> None:
    """A batch whose worker ended after its second chunk ends with each problem done once."""
    for _ in range(2 * CHUNK):
        twin()
    batch = _begin(eva, "let-through", "state=held")
    killed()
    assert (fresh(batch).is_busy, batch.done) == (True, 2 * CHUNK)
    work_off()
    assert (fresh(batch).is_busy, batch.done, batch.job.state) == (False, 4 * CHUNK, "done")
    events = Event.objects.filter(batch=batch.mark)
    assert events.count() == events.values("problem").distinct().count() == 4 * CHUNK


def test_a_stopped_batch_continues_or_is_undone(max_: Any, eva: Any, twin: Any) -> None:
    """A stop keeps what is done; another moderator continues, or undoes it, and not both."""
    for _ in range(CHUNK):
        twin()
    batch = _begin(eva, "let-through", "state=held")
    with pytest.raises(InputError, match="Only a finished action"):
        undo_batch(eva, batch, "too soon")
    batch.job.stop(max_)
    work_off()
    assert fresh(batch).done == CHUNK
    batch.job.retry(max_)
    work_off()
    assert (fresh(batch).done, batch.is_busy) == (2 * CHUNK, False)
    batch = _begin(eva, "hold", "state=judging")
    batch.job.stop(max_)
    undone = undo_batch(max_, batch, "by mistake")
    work_off()
    batch.job.retry(eva)
    work_off()
    assert fresh(undone).done == CHUNK
    assert Problem.objects.filter(state="judging").count() == 2 * CHUNK
    assert fresh(batch.job).error == "This action has already been undone."


def test_a_pick_that_is_none_is_refused(eva: Any, do: Any) -> None:
    """Without a problem nothing is begun."""
    with pytest.raises(InputError, match="at least one"):
        do(eva, "withdraw")


def test_a_demoted_moderator_does_no_more(eva: Any, twin: Any) -> None:
    """What a batch has not done yet is left alone once its moderator is none."""
    for _ in range(CHUNK // 2 + 1):
        half = twin()[0]
    batch = _begin(eva, "withdraw", "state=held")
    eva.is_moderator = False
    eva.save()
    work_off()
    assert (fresh(half).state, fresh(batch).done, batch.left_count) == ("held", CHUNK, 2)
