"""A round is opened: its problems enter the site under embargo, its sheets are made and kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from winosmith import Dataset, humans
from winosmith.errors import InputError
from winosmith.web._import import import_problems
from winosmith.web._lock import writing
from winosmith.web.problems.embargoes import put_under
from winosmith.web.problems.models import Problem, State
from winosmith.web.problems.records import as_problem
from winosmith.web.problems.states import stay
from winosmith.web.take.models import Material, Round, Sheet
from winosmith.web.take.texts import consent_text

if TYPE_CHECKING:
    from winosmith.dataset import Dropped

__all__ = ["open_round"]

CHUNK = 500
"""Problems that are looked up at once."""


def open_round(
    dataset: Dataset,
    name: str,
    *,
    versions: Sequence[str] = ("a", "b"),
    orders: int = 1,
    seed: int = 0,
    title: str = humans.TITLE,
    declared: Sequence[humans.Declared] = humans.DECLARED,
    consent: str | None = None,
    public: bool = False,
) -> tuple[Round, tuple[Dropped, ...]]:
    """Open a test of problems to the people of the site.

    Problems that the site does not have enter it as valid and under embargo; those that it has,
    by their id, go under embargo unless they are public. Interrupted, the same call goes on.

    Args:
        dataset: problems with their answers.
        name: small letters, digits and dashes; part of the addresses.
        versions: as `humans.make_sheets` takes them, as are the next three.
        orders: of each test.
        seed: deals the halves, draws the orders, and settles who gets what.
        title: what stands at the top.
        declared: what people may tell of themselves.
        consent: what they agree to before; None for the text that ships.
        public: problems that everyone can read already may be asked all the same.

    Returns:
        The round, and the problems on no sheet with the reason.

    Raises:
        InputError: the name is taken or none; a problem has no answer, or is another one on the
            site, or is public, withdrawn, rejected or a gold question there.
        DataError: no sheets can be made of these problems.
    """
    _check_name(name)
    _check_answers(dataset)
    rows = _known(dataset)
    for row in rows.values():
        _check_known(row, dataset, public)
    humans.make_sheets(dataset, versions=versions, orders=orders, seed=seed, title=title)
    import_problems(dataset, "valid", embargo=True)
    rows = _known(dataset)
    held = Dataset(
        (as_problem(_hidden(rows[problem_id])) for problem_id in dataset.ids), dataset.name
    )
    made = humans.make_sheets(held, versions=versions, orders=orders, seed=seed, title=title)
    with writing():
        _check_name(name)
        _embargo(rows.values())
        opened = Round.objects.create(
            name=name,
            title=title,
            data=held.blind().digest,
            seed=seed,
            consent=consent or consent_text([len(sheet) for sheet in made.sheets]),
            declared=[_declared(each) for each in declared],
        )
        Material.objects.bulk_create(
            Material(round=opened, problem=rows[problem_id], place=place)
            for place, problem_id in enumerate(held.ids)
        )
        Sheet.objects.bulk_create(_row(opened, sheet) for sheet in made.sheets)
    return opened, made.left_out


def _check_name(name: str) -> None:
    try:
        Round._meta.get_field("name").clean(name, None)
    except ValidationError:
        raise InputError(
            _("%r can't name a round; use up to 40 letters, digits and dashes") % name
        ) from None
    if Round.objects.filter(name=name).exists():
        raise InputError(_("there is a round %r already; choose another name") % name)


def _check_answers(dataset: Dataset) -> None:
    for problem in dataset:
        if problem.answer is None:
            raise InputError(
                f"the problem {problem.id!r} has no answer, so nothing that people answer can be "
                "compared with it"
            )


def _known(dataset: Dataset) -> dict[str, Problem]:
    """Return the rows that the site has of these problems, by id."""
    rows: dict[str, Problem] = {}
    for start in range(0, len(dataset), CHUNK):
        found = Problem.objects.filter(ref__in=dataset.ids[start : start + CHUNK])
        rows.update((row.ref, row) for row in found.select_related("twin__contributor"))
    return rows


def _check_known(row: Problem, dataset: Dataset, public: bool) -> None:
    if row.gold or row.state not in (State.VALID, State.JUDGING):
        what = "a gold question" if row.gold else State(row.state).label
        raise InputError(f"the problem {row.ref!r} can't be asked: on this site it is {what}")
    if row.answer != dataset[dataset.row(row.ref)].answer:
        raise InputError(f"the problem {row.ref!r} has another answer on this site")
    if row.public and not public:
        raise InputError(
            f"the problem {row.ref!r} is public on this site, so that anybody may have read both "
            "halves; take others, or say with --public-too that it shall be asked all the same"
        )


def _hidden(row: Problem) -> Problem:
    """Return a row with the embargo that the round brings."""
    if not row.public:
        row.embargo = True
    return row


def _embargo(rows: Any) -> None:
    """Put what is not public under embargo, and write down that it was."""
    for row in Problem.objects.filter(pk__in=[row.pk for row in rows if row.embargo]):
        if not row.embargo:
            put_under(row)
            stay(row, by=None, kind="embargo", reason=_("it is asked in a human test"))


def _declared(each: humans.Declared) -> dict[str, Any]:
    return {"name": each.name, "asked": each.asked, "choices": list(each.choices)}


def _row(opened: Round, sheet: humans.Sheet) -> Sheet:
    return Sheet(
        round=opened,
        code=sheet.code,
        test=sheet.test,
        order=sheet.order,
        record=humans.sheet_record(sheet),
    )
