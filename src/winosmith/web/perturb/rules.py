"""Input for perturbing a sentence or revising a version, its checks, and the new version."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.utils.translation import gettext as _, ngettext

from winosmith import Lineage, Problem as Datum, text
from winosmith.errors import InputError
from winosmith.lineage import Depths, find_edits
from winosmith.problem import BLANK
from winosmith.records import make_problem_record
from winosmith.web.judge.submissions import may_revise, retire_replaced_halves, submit_twin
from winosmith.web.pages import is_number
from winosmith.web.people.gates import process_once
from winosmith.web.people.models import Person
from winosmith.web.people.privacy import get_pending_documents
from winosmith.web.predict.asking import request_predictions
from winosmith.web.predict.models import Model
from winosmith.web.problems import checks, family
from winosmith.web.problems.checks import Check, Verdict, group_advice_by_field
from winosmith.web.problems.lookalikes import Half
from winosmith.web.problems.models import Problem, State, Version
from winosmith.web.problems.states import REMOVED_STATES, is_visible_to, lock_problem


@dataclass(frozen=True, slots=True)
class SentenceInput:
    """A sentence as entered in a form.

    Attributes:
        sentence: The sentence, which may not have a blank yet. A blank next to a word is separated
            from the word.
        options: The options, as many as the parent has; unfilled options are "".
        answer: The 0-based index of the correct option; None if none is chosen.
        declared: The depth stated by the contributor, as text, or "".
        against: The name of the model to fool, or "".
        was_separated: Whether the blank had to be separated from a word.
    """

    sentence: str
    options: tuple[str, ...]
    answer: int | None = None
    declared: str = ""
    against: str = ""
    was_separated: bool = field(default=False, compare=False)

    @classmethod
    def from_form(cls, form: Mapping[str, Any], option_count: int) -> SentenceInput:
        """Read the input from a submitted form, and drop invalid values."""
        answer = str(form.get("answer", ""))
        entered = checks.read_field(form, "sentence")
        sentence = text.separate_blank(entered)
        return cls(
            sentence,
            tuple(checks.read_field(form, f"option_{n}") for n in range(1, option_count + 1)),
            int(answer) if answer in map(str, range(option_count)) else None,
            checks.read_field(form, "declared"),
            checks.read_field(form, "against"),
            sentence != entered,
        )

    @classmethod
    def from_version(cls, problem: Problem, target: str) -> SentenceInput:
        declared = (problem.record.get("lineage") or {}).get("declared")
        return cls(
            problem.sentence,
            tuple(problem.options),
            problem.answer,
            "" if declared is None else str(declared),
            target,
        )

    def without_long_texts(self) -> SentenceInput:
        sentence = checks.empty_if_long(self.sentence, checks.MAX_SENTENCE_LENGTH)
        options = tuple(checks.empty_if_long(one, checks.MAX_OPTION_LENGTH) for one in self.options)
        return replace(self, sentence=sentence, options=options)

    @property
    def depth(self) -> int | None:
        return int(self.declared) if is_number(self.declared, 3) else None


MIN_SENTENCE_WORDS = 5
"""Minimum number of words; WinoGrande's range of 15 to 30 words applies only to twins."""


@dataclass(frozen=True, slots=True)
class Position:
    """A position in a family at which a sentence is written.

    Attributes:
        person: The writer; None for a visitor who has not written anything yet.
        path: The path from the root to the parent.
        revises: The version that the sentence replaces, or None.
    """

    person: Person | None
    path: Sequence[Problem]
    revises: Problem | None = None

    @classmethod
    def for_new_version(cls, person: Person | None, parent: Problem) -> Position:
        return cls(person, family.get_path(parent))

    @classmethod
    def for_revision(cls, person: Person | None, old: Problem) -> Position:
        return cls(person, family.get_path(old)[:-1], old)

    @property
    def root(self) -> Problem:
        return self.path[0]

    @property
    def parent(self) -> Problem:
        return self.path[-1]


def measure_input_depths(typed: SentenceInput, position: Position) -> Depths | None:
    if typed.sentence.count(BLANK) != 1:
        return None
    return family.measure_depths(position.path, typed.sentence, declared=typed.depth)


def run_checks(typed: SentenceInput, position: Position) -> list[Check]:
    """Run all checks, in form order; most are undecided if a text is too long."""
    read = typed.without_long_texts()
    found = [
        checks.check_blank(read.sentence, "sentence", separated=read.was_separated),
        _check_length(typed),
        _check_differs_from_parent(read, position),
        _check_is_new_in_family(read, position),
        checks.check_options(typed.options),
        _check_options_in_sentence(read),
        _check_answer(typed, position),
    ]
    if typed.declared:
        found.append(_check_declared_depth(read, position))
    if read.sentence == typed.sentence:
        return found
    measured = ("length", "options differ", "answer")
    return [one if one.rule in measured else one.as_todo() for one in found]


def _check_length(typed: SentenceInput) -> Check:
    label = _("A whole sentence, not too long")
    if len(typed.sentence) > checks.MAX_SENTENCE_LENGTH:
        advice = _("Shorten it to %d characters.") % checks.MAX_SENTENCE_LENGTH
        return Check("length", "fail", label, "", advice, "sentence")
    number = len(text.split_words(typed.sentence))
    figure = ngettext("%d word", "%d words", number) % number if number else ""
    if text.detect_script(typed.sentence) == "unspaced":  # there are no words to count
        return Check("length", "pass", label, "", "", "sentence")
    advice = _("Write %d words or more.") % MIN_SENTENCE_WORDS
    short: Verdict = "fail" if typed.sentence else "todo"
    verdict = "pass" if number >= MIN_SENTENCE_WORDS else short
    return Check("length", verdict, label, figure, advice, "sentence")


def _check_differs_from_parent(typed: SentenceInput, position: Position) -> Check:
    versions = position.parent, typed
    hashes = {family.hash_version(one.sentence, one.options) for one in versions}
    edits = text.compute_edit_distance(*(text.tokenize(one.sentence) for one in versions))
    figure = ngettext("%d edit", "%d edits", edits) % edits if edits else ""
    advice = _("Change a word: the sentence is still the same as the one above.")
    verdict: Verdict = "todo" if len(hashes) == 1 else "pass"
    return Check("changed", verdict, _("A change is made"), figure, advice, "sentence")


def _check_is_new_in_family(typed: SentenceInput, position: Position) -> Check:
    label = _("New in its family")
    digest = family.hash_version(typed.sentence, typed.options)
    parent, root, person = position.parent, position.root, position.person
    if digest == family.hash_version(parent.sentence, parent.options) or not typed.sentence:
        return Check("new", "todo", label, "", "", "sentence")
    same = Version.objects.filter(root=root, digest=digest).exclude(problem__embargo=True)
    same = same.exclude(problem__state__in=(*REMOVED_STATES, State.REJECTED))
    if position.revises:
        same = same.exclude(problem=position.revises)
    found, advice = same.select_related("problem__twin").first(), ""
    if found is None:
        halves = Problem.objects.select_related("twin").filter(twin=root.twin_id)
        for half in halves.exclude(pk=root.pk):
            seen = half.state not in REMOVED_STATES and is_visible_to(person, half)
            if seen and family.hash_version(half.sentence, half.options) == digest:
                advice = _("This is the other half of the original’s twin; change one more word.")
    elif person is not None and found.problem.twin.contributor_id == person.pk:
        advice = _("You have already submitted this sentence; change one more word.")
    elif found.parent_id is None:
        advice = _("This sentence equals the original; change one more word.")
    else:
        advice = _("This sentence has already been submitted; change one more word.")
    return Check("new", "fail" if advice else "pass", label, "", advice, "sentence")


def _check_options_in_sentence(typed: SentenceInput) -> Check:
    label = _("The options are in the sentence")
    if not checks.has_usable_options(typed.options) or not typed.sentence:
        return Check("occur", "todo", label, "", "", "option_1")
    sentence = _casefold_words(typed.sentence)
    missing = [option for option in typed.options if f" {_strip_article(option)} " not in sentence]
    advice = _("Not in the sentence: %s. If you meant to change the word, change the option, too.")
    advice %= ", ".join(f"“{option}”" for option in missing)
    return Check("occur", "note" if missing else "pass", label, "", advice, "option_1")


def _casefold_words(sentence: str) -> str:
    return f" {' '.join(text.tokenize(sentence))} ".casefold()


def _strip_article(option: str) -> str:
    folded = _casefold_words(option).split()
    return " ".join(folded[1:] if len(folded) > 1 and folded[0] in ("a", "an", "the") else folded)


def _check_answer(typed: SentenceInput, position: Position) -> Check:
    before = position.parent.answer
    figure = ""
    if typed.answer is not None and before is not None:
        figure = _("stays") if typed.answer == before else _("flipped")
    advice = _("Read your sentence again, and choose what the blank stands for now.")
    verdict: Verdict = "todo" if typed.answer is None else "pass"
    return Check("answer", verdict, _("The answer is chosen"), figure, advice, "answer")


def _check_declared_depth(typed: SentenceInput, position: Position) -> Check:
    label = _("A valid declared depth")
    found = measure_input_depths(typed, position)
    advice = ""
    if typed.depth is None:
        advice = _("Enter a whole number from 0 to 999, or leave it empty.")
    elif typed.depth == 0 and found is not None and found.edit:
        advice = _("0 is the depth of the original, which this sentence changes.")
    verdict: Verdict = "fail" if advice else "pass"
    return Check("declared", verdict, label, typed.declared, advice, "declared")


SOURCE = "person"
"""The kind of perturber; EvoGrad distinguishes people, a chat model and WordNet."""


def is_revisable(person: Person | None, problem: Problem) -> bool:
    version = Version.objects.filter(problem=problem, parent__isnull=False)
    return person is not None and may_revise(person, problem.twin) and version.exists()


def create_version(
    position: Position,
    typed: SentenceInput,
    key: str,
    *,
    precheck: Callable[[], object] | None = None,
) -> str:
    """Create a version from the input, at most once per `key`, and request predictions for it.

    The version is stored as a single problem before any model reads it, so that no model can lose
    or delay it. It is judged and moderated like any problem. A repeated submission with the same
    key returns the same `ref`. `precheck` (a rate limit) is called before the version is stored,
    in the same transaction.

    Raises:
        RefusedError: A rule is violated; nothing was written.
        InputError: The person has not agreed to the texts, may not perturb that problem, or the
            revised version was decided or replaced in the meantime.
    """
    person = position.person
    assert person is not None  # noqa: S101 - nobody else writes

    def store_version() -> dict[str, str]:
        if get_pending_documents(person):
            raise InputError(_("First agree to the site’s consent forms. Your text is kept."))
        current = _lock_position(position)
        faults = group_advice_by_field(
            one for one in run_checks(typed, current) if one.verdict in ("fail", "todo")
        )
        if faults:
            raise checks.RefusedError(faults)
        if precheck:
            precheck()
        old, half = current.revises, Half(typed.sentence, typed.options, typed.answer)
        embargo = bool(old and retire_replaced_halves(person, old.twin) and not old.version.covered)
        skip = old.twin_id if old else None
        (problem,) = submit_twin(
            person,
            [half],
            checks.find_moderator_hints([half], person, skip_twin=skip, family=current.root),
            embargo=embargo,
            record=_build_record(typed, current),
            source=SOURCE,
            domain=current.root.twin.domain,
            revises=old.twin if old else None,
        )
        against = Model.objects.filter(name=typed.against, current=True).first()
        family.add_to_family(problem, current.parent, against=against)
        request_predictions(problem)
        return {"problem": problem.ref}

    revised = position.revises
    what = f"revise {revised.ref}" if revised else f"perturb {position.parent.ref}"
    result, _new = process_once(person, key, what, store_version)
    return str(result["problem"])


def _lock_position(position: Position) -> Position:
    """Reload a position, and lock its problem; check that the person may still write there."""
    person, old = position.person, position.revises
    family.lock_family_root(old or position.parent)
    now = lock_problem((old or position.parent).pk)
    if old:
        if not is_revisable(person, now):
            raise InputError(_("This sentence has been decided or replaced; it can’t be revised."))
        return Position.for_revision(person, now)
    if not family.may_perturb(person, now):
        raise InputError(_("This sentence can no longer be perturbed: it was withdrawn."))
    return Position.for_new_version(person, now)


def _build_record(typed: SentenceInput, position: Position) -> dict[str, object]:
    """Return the fields that have no column; the pronoun is kept if the options are unchanged."""
    parent = position.parent
    edits = find_edits(text.tokenize(parent.sentence), text.tokenize(typed.sentence))
    same = list(typed.options) == list(parent.options)
    datum = Datum(
        "new",
        typed.sentence,
        typed.options,
        typed.answer,
        pronoun=parent.record.get("pronoun") if same else None,
        lineage=Lineage(position.root.ref, parent.ref, edits, typed.depth),
    )
    record = make_problem_record(datum)
    return {"single": True, **{key: record[key] for key in ("lineage", "pronoun") if key in record}}
