"""Rounds of human tests: opening under embargo, progress, closing, and publication.

A publication releases only the problems that the round used, and their other halves. All other
problems stay under embargo.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from django.core.exceptions import ValidationError
from django.db.models import Count, Q
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.translation import gettext as _, ngettext

from winosmith import Dataset, humans
from winosmith.errors import InputError
from winosmith.web._lock import chunked, writing
from winosmith.web.importing import import_problems
from winosmith.web.jobs import TEST_CLOSE, Job, Progress, create_job
from winosmith.web.problems.family import lift_embargo, set_embargo
from winosmith.web.problems.models import Problem, State
from winosmith.web.problems.records import as_problem
from winosmith.web.problems.states import REMOVED_STATES
from winosmith.web.take.models import Material, Round, Sheet, Sitting
from winosmith.web.take.results import compute_results, load_dataset, load_sittings
from winosmith.web.take.sheets import estimate_minutes, get_problem_ids

if TYPE_CHECKING:
    from winosmith.dataset import Dropped
    from winosmith.web.people.models import Person


def make_consent_text(question_counts: list[int]) -> str:
    """Return the default consent text for respondents.

    `question_counts` are the numbers of questions of the sheets. Headings are lines without a full
    stop.
    """
    least, most = min(question_counts), max(question_counts)
    short, long = estimate_minutes(least), estimate_minutes(most)
    numbers = {
        "questions": str(most) if least == most else f"{least} to {most}",
        "minutes": str(long) if short == long else f"{short} to {long}",
        "most": most,
        "longest": long,
    }
    return render_to_string("take/consent.txt", numbers)


CHUNK = 500
"""Number of problems per query."""


def open_round(
    dataset: Dataset,
    name: str,
    *,
    consent: str | None = None,
    public: bool = False,
    title: str | None = None,
    seed: int = 0,
    **options: Any,
) -> tuple[Round, tuple[Dropped, ...]]:
    """Open a human test on the site.

    New problems are stored as valid and under embargo. Problems whose id exists on the site are put
    under embargo unless they are public. After an interruption, the same call resumes.

    `consent` is None for the default text. `public` allows problems that everybody can already
    read. `options` are `versions` and `orders`, as in `humans.make_sheets`. The second item
    returned is a list of the problems that are on no sheet, with the reasons.
    """
    options |= {"title": title, "seed": seed}
    plan_round(dataset, name, public=public, **options)
    import_problems(dataset, "valid", embargo=True)
    rows = _find_site_problems(dataset)
    for row in rows.values():
        row.embargo = row.embargo or not row.public
    stored = Dataset((as_problem(rows[problem_id]) for problem_id in dataset.ids), dataset.name)
    made = humans.make_sheets(stored, **options)
    with writing():
        _check_name(name)
        embargoed = [row.pk for row in rows.values() if row.embargo]
        for row in Problem.objects.filter(pk__in=embargoed, embargo=False):
            set_embargo(row)
            row.log_event("embargo", reason=_("it is in a human test"))
        opened = Round.objects.create(
            name=name,
            title=made.sheets[0].title,
            data=stored.blind().digest,
            seed=seed,
            consent=consent or make_consent_text([len(sheet) for sheet in made.sheets]),
        )
        Material.objects.bulk_create(
            Material(round=opened, problem=rows[problem_id], place=place)
            for place, problem_id in enumerate(stored.ids)
        )
        Sheet.objects.bulk_create(
            Sheet(
                round=opened,
                code=sheet.code,
                test=sheet.test,
                order=sheet.order,
                record=humans.make_sheet_record(sheet),
            )
            for sheet in made.sheets
        )
    return opened, made.omitted


def plan_round(
    dataset: Dataset, name: str, *, public: bool = False, **options: Any
) -> humans.Sheets:
    """Plan the sheets of a round without writing anything; errors are those of `open_round`.

    If a problem is new, the order of its options may differ in the round.
    """
    _check_name(name)
    for problem in dataset:
        if problem.answer is None:
            raise InputError(
                _("the problem %r has no answer to compare people’s answers with") % problem.id
            )
    for row in _find_site_problems(dataset).values():
        if row.gold or row.state not in (State.VALID, State.JUDGING):
            what = _("a gold question") if row.gold else row.get_state_display()
            raise InputError(
                _("the problem %(ref)r can’t be in a test: on this site, it is %(what)s")
                % {"ref": row.ref, "what": what}
            )
        if row.answer != dataset[dataset.row(row.ref)].answer:
            raise InputError(_("the problem %r has a different answer on this site") % row.ref)
        if row.public and not public:
            raise InputError(
                _(
                    "the problem %r is public on this site, so people may have read "
                    "both halves; use other problems, or allow problems that are already public"
                )
                % row.ref
            )
    return humans.make_sheets(dataset, **options)


def _check_name(name: str) -> None:
    try:
        Round._meta.get_field("name").clean(name, None)
    except ValidationError:
        raise InputError(
            _("%r is not a valid name; use up to 40 letters, digits and dashes") % name
        ) from None
    if Round.objects.filter(name=name).exists():
        raise InputError(_("a test named %r already exists; choose another name") % name)


def _find_site_problems(dataset: Dataset) -> dict[str, Problem]:
    rows = Problem.objects.select_related("twin__contributor")
    queries = (rows.filter(ref__in=refs) for refs in chunked(dataset.ids, CHUNK))
    return {row.ref: row for query in queries for row in query}


def close_round(name: str, *, drop: bool = False, actor: Person | None = None) -> Job:
    """Close a round, and return the job that computes its results.

    With `drop`, sheets in use are treated as abandoned; otherwise, they prevent closing. The log
    names the `actor`.
    """
    with writing():
        locked = Round.objects.select_for_update(no_key=True).get(name=name)
        if locked.state == Round.State.CLOSED:
            raise InputError(_("the test %r is already closed") % name)
        out = Sitting.objects.filter(subject__round=locked, state=Sitting.State.GIVEN)
        if (count := out.count()) and not drop:
            used = (
                ngettext("%d sheet is still in progress", "%d sheets are still in progress", count)
                % count
            )
            raise InputError(
                _("%s; wait, or choose to treat unfinished sheets as abandoned") % used
            )
        now = timezone.now()
        out.update(state=Sitting.State.DROPPED, ended=now)
        locked.state, locked.closed = Round.State.CLOSED, now
        locked.save(update_fields=["state", "closed"])
        return _queue_results(locked, actor, drop=drop)


def _queue_results(round_: Round, actor: Person | None = None, **options: bool) -> Job:
    """Queue a job that computes the results. The caller must have locked the round."""
    if (waiting := find_results_job(round_)) and waiting.state == Job.State.WAITING:
        return waiting
    return create_job(actor, TEST_CLOSE, {"name": round_.name, **options}, state=Job.State.WAITING)


def find_results_job(round_: Round) -> Job | None:
    """Return the latest job that computes the results of a round."""
    return Job.objects.filter(kind=TEST_CLOSE, asked__name=round_.name).order_by("pk").last()


def run_results_job(job: Job, _progress: Progress) -> None:
    store_results(Round.objects.get(name=job.asked["name"]))


def store_results(round_: Round) -> None:
    """Compute and store the results of a closed round.

    If a sheet is approved during the computation, the answers change, and the computation is
    repeated.
    """
    counted, found = None, load_sittings(round_)
    while counted != found:
        counted = found
        round_.figures = compute_results(round_, counted)
        with writing():
            Round.objects.select_for_update(no_key=True).get(pk=round_.pk)
            if (found := load_sittings(round_)) == counted:
                round_.save(update_fields=["figures"])


def approve_sheet(round_: Round, ref: str, moderator: Person) -> None:
    """Approve a sheet that is on hold because it was completed too fast.

    If the round is closed, the worker computes its results again.
    """
    with writing():
        locked = Round.objects.select_for_update(no_key=True).get(pk=round_.pk)
        rows = Sitting.objects.filter(subject__round=locked, ref=ref, held=True)
        if rows.filter(subject__person=moderator).exists():
            raise InputError(_("Another moderator must check your own sheet."))
        if not rows.update(held=False, looked_by=moderator):
            raise InputError(_("This sheet is not on hold; open the page again."))
        if locked.state == Round.State.CLOSED:
            _queue_results(locked)


def publish_round(name: str, *, actor: Person | None = None) -> dict[str, Any]:
    """Publish the problems that a closed round used, with their other halves.

    This is the policy of Davis et al. (2016, section 6). In addition, all problems of the round get
    a canary. The log names the `actor`.

    The result contains the numbers of `used` problems, of their unused other halves (`alternates`),
    and of problems that stay under embargo (`withheld`), and the `canary`.
    """
    with writing():
        locked = Round.objects.select_for_update(no_key=True).get(name=name)
        after = _plan_publication(locked)
        for row in _lock_problems(after.withheld.ids):
            _add_canary(row, after.canary)
        for row in _lock_problems(after.released.ids):
            lift_embargo(row)
            row.released = True
            _add_canary(row, after.canary)
            row.log_event("publish", actor=actor, reason=_("the human test %r has ended") % name)
        locked.published = timezone.now()
        locked.save(update_fields=["published"])
    return _count_publication(after)


def plan_publication(name: str) -> dict[str, Any]:
    """Return the result of `publish_round` without writing; the errors are the same."""
    return _count_publication(_plan_publication(Round.objects.get(name=name)))


def _count_publication(plan: humans.PublicationPlan) -> dict[str, Any]:
    return {
        "used": len(plan.released) - plan.alternates,
        "alternates": plan.alternates,
        "withheld": len(plan.withheld),
        "canary": plan.canary,
    }


def _plan_publication(round_: Round) -> humans.PublicationPlan:
    name = round_.name
    if round_.state != Round.State.CLOSED:
        raise InputError(_("the test %r is open; close it first") % name)
    if round_.published:
        values = {"name": name, "at": f"{round_.published:%Y-%m-%d}"}
        raise InputError(_("the test %(name)r was already published on %(at)s") % values)
    # Problems that were withdrawn during the test are not released, so they can still be erased.
    gone = round_.materials.filter(problem__state__in=REMOVED_STATES)
    withdrawn = set(gone.values_list("problem__ref", flat=True))
    dataset = Dataset((p for p in load_dataset(round_) if p.id not in withdrawn), name)
    taken = Sheet.objects.filter(round=round_, sittings__isnull=False).distinct()
    used = get_problem_ids(taken) & set(dataset.ids)
    after = humans.publish(dataset, used)
    others = Round.objects.filter(
        state=Round.State.OPEN, materials__problem__ref__in=list(after.released.ids)
    )
    if other := others.first():
        raise InputError(
            _("the test %r is open and has some of these problems; close it first") % other.name
        )
    return after


def _lock_problems(ids: Iterable[str]) -> list[Problem]:
    return list(Problem.objects.filter(ref__in=list(ids)).select_for_update(no_key=True))


def _add_canary(row: Problem, canary: str) -> None:
    extra = {**(row.record.get("extra") or {}), humans.CANARY: canary}
    row.record = {**row.record, "extra": extra}
    row.save(update_fields=["released", "record"])


_COUNTS = {
    state: Count("sittings", filter=Q(sittings__state=state), distinct=True)
    for state in Sitting.State.values
}


def count_sittings(round_: Round) -> dict[str, Any]:
    """Count the respondents of each sheet of a round, and in total.

    `given` respondents are taking a sheet, `done` have submitted it, and `dropped` have abandoned
    it. `problems` is the number of problems in the round's data.
    """
    rows = round_.sheets.annotate(**_COUNTS).order_by("test", "order")
    sheets = [
        {
            "code": row.code,
            "test": row.test,
            "order": row.order,
            "questions": row.question_count,
            **{state: getattr(row, state) for state in _COUNTS},
        }
        for row in rows
    ]
    totals = {state: sum(sheet[state] for sheet in sheets) for state in _COUNTS}
    problems = round_.materials.count()
    return {"round": round_, "problems": problems, **totals, "sheets": sheets}


def list_sittings(round_: Round) -> list[Sitting]:
    rows = Sitting.objects.filter(subject__round=round_).select_related("subject", "sheet")
    answered = Count("answers", filter=~Q(answers__letter=""))
    return list(rows.annotate(answered=answered).order_by("pk"))
