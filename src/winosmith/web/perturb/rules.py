"""What contributors may do: perturb a sentence, revise what they perturbed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from django.conf import settings
from django.utils.translation import gettext as _

from winosmith import Lineage
from winosmith import Problem as Datum
from winosmith.errors import InputError
from winosmith.lineage import edit_script
from winosmith.records import problem_record
from winosmith.text import tokens
from winosmith.web.judge.submissions import enter, may_revise, replace
from winosmith.web.people.consent import has_agreed
from winosmith.web.people.gates import once
from winosmith.web.people.models import Done
from winosmith.web.perturb.checking import Place, Typed, examine
from winosmith.web.predict.asking import ask
from winosmith.web.predict.models import Model
from winosmith.web.problems.checks import Refused, by_field, hints
from winosmith.web.problems.family import lock, may_perturb, path_to, place
from winosmith.web.problems.lookalikes import Half
from winosmith.web.problems.models import Problem, Twin, Version, new_ref
from winosmith.web.problems.states import locked

if TYPE_CHECKING:
    from winosmith.web.people.models import Person

SOURCE = "person"
"""Who perturbed, as EvoGrad has it: people, a chat model, WordNet."""


def revisable(person: Person | None, problem: Problem) -> bool:
    """Tell whether a problem is somebody's own version that a revision may help."""
    version = Version.objects.filter(problem=problem, parent__isnull=False)
    return person is not None and may_revise(person, problem.twin) and version.exists()


def perturb(
    person: Person,
    parent: Problem,
    typed: Typed,
    key: str,
    *,
    against: str | None = None,
    before: Callable[[], object] | None = None,
) -> Problem:
    """Make a version of what was typed, once for a key, and ask every model about it.

    It is a single of its own, judged and moderated like any problem. All of it is on the disk
    before any model reads it, so that none can lose or delay it.

    Args:
        person: the contributor, who has agreed to the texts that hold now.
        parent: what is perturbed.
        typed: the new sentence, its options, its answer.
        key: of the form; sent again, it returns the same problem.
        against: the name of the model to fool; None for the one that was typed.
        before: what must succeed first, in the same transaction (a rate limit).

    Raises:
        Refused: a rule is broken; nothing was written.
        InputError: the person has not agreed to the texts, or may not perturb that problem.
    """

    def act() -> dict[str, str]:
        _check_agreed(person)
        lock(parent)
        now = locked(parent.pk)
        if not may_perturb(person, now):
            raise InputError(_("This sentence can't be perturbed any more: it was withdrawn."))
        goes = Place(person, path_to(now))
        _check(typed, goes)
        if before:
            before()
        return {"problem": _made(typed, goes, against).ref}

    return _done(person, key, f"perturb {parent.ref}", act)


def revise(
    person: Person,
    old: Problem,
    typed: Typed,
    key: str,
    *,
    against: str | None = None,
    before: Callable[[], object] | None = None,
) -> Problem:
    """Replace one's own version, below the same parent, once for a key.

    Args:
        person: the contributor.
        old: the version that is replaced.
        typed: what takes its place.
        key: of the form; sent again, it returns the same problem.
        against: the name of the model to fool; None for the one that was typed.
        before: what must succeed first, in the same transaction.

    Raises:
        Refused: a rule is broken; nothing was written.
        InputError: the person has not agreed, or the version was decided or replaced meanwhile.
    """

    def act() -> dict[str, str]:
        _check_agreed(person)
        lock(old)
        now = locked(old.pk)
        if not revisable(person, now):
            raise InputError(_("This was decided or replaced meanwhile; it can't be revised."))
        goes = Place(person, path_to(now)[:-1], now)
        _check(typed, goes)
        if before:
            before()
        return {"problem": _made(typed, goes, against).ref}

    return _done(person, key, f"revise {old.ref}", act)


def sent(person: Person | None, key: str) -> str:
    """Return the `ref` of the problem that came of a form; "" when it was not sent."""
    done = Done.objects.filter(person=person, key=key).first() if person and key else None
    return str(done.result.get("problem", "")) if done else ""


def _done(person: Person, key: str, form: str, act: Callable[[], dict[str, str]]) -> Problem:
    result, _new = once(person, key, form, act)
    return Problem.objects.select_related("twin").get(ref=result["problem"])


def _check_agreed(person: Person) -> None:
    if not has_agreed(person):
        raise InputError(_("Agree to the site's texts first; what you typed is kept."))


def _check(typed: Typed, goes: Place) -> None:
    faults = by_field(one for one in examine(typed, goes) if one.verdict in ("fail", "todo"))
    if faults:
        raise Refused(faults)


def _made(typed: Typed, goes: Place, against: str | None) -> Problem:
    """Write the version with its place in the family, and what it replaces."""
    person, old = goes.person, goes.revises
    assert person is not None  # noqa: S101 - the rules take no one else
    embargo = replace(person, old.twin) and not old.version.covered if old else False
    twin = Twin.objects.create(
        ref=new_ref(),
        contributor=person,
        source=SOURCE,
        domain=goes.root.twin.domain,
        licence=settings.RULES.licence[:60],
        revises=old.twin if old else None,
    )
    half = Half(typed.sentence, typed.options, typed.answer)
    found = hints([half], person, without=twin.revises_id, family=goes.root)
    (problem,) = enter(twin, [half], found, embargo=embargo, record=_record(typed, goes))
    name = typed.against if against is None else against
    place(problem, goes.parent, against=Model.objects.filter(name=name, current=True).first())
    ask(problem, urgent=True)
    return problem


def _record(typed: Typed, goes: Place) -> dict[str, object]:
    """Return what no column holds; the pronoun is the parent's while the options stay."""
    parent = goes.parent
    edits = edit_script(tokens(parent.sentence), tokens(typed.sentence))
    same = list(typed.options) == list(parent.options)
    datum = Datum(
        "new",
        typed.sentence,
        typed.options,
        typed.answer,
        pronoun=parent.record.get("pronoun") if same else None,
        lineage=Lineage(goes.root.ref, parent.ref, edits, typed.depth),
    )
    kept = problem_record(datum)
    return {"single": True, **{key: kept[key] for key in ("lineage", "pronoun") if key in kept}}
