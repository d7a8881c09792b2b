"""Perturbing a sentence or revising a version: the input, its checks, and the new version."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _, ngettext

from winosmith import Lineage, Problem as Datum
from winosmith.errors import InputError
from winosmith.lineage import Depths, edit_script
from winosmith.problem import BLANK
from winosmith.records import problem_record
from winosmith.text import edit_distance, kind_of_script, separate_blank, tokens, words
from winosmith.web.judge.submissions import may_revise, retire_replaced_halves, submit_twin
from winosmith.web.pages import is_number
from winosmith.web.people.gates import get_stored_result, process_once
from winosmith.web.people.models import Person
from winosmith.web.people.privacy import has_agreed
from winosmith.web.predict.asking import request_predictions
from winosmith.web.predict.models import Model
from winosmith.web.problems import checks
from winosmith.web.problems.checks import Check, Verdict, group_by_field
from winosmith.web.problems.family import (
    add_to_family,
    lock_family_root,
    may_perturb,
    measure_depths,
    path_from_root,
    version_digest,
)
from winosmith.web.problems.lookalikes import Half
from winosmith.web.problems.models import Problem, State, Twin, Version, new_ref
from winosmith.web.problems.states import REMOVED_STATES, is_visible_to, lock_problem


@dataclass(frozen=True, slots=True)
class SentenceInput:
    """A sentence as entered in a form.

    Attributes:
        sentence: The sentence, perhaps without a blank yet; a blank next to a word is separated
            from it.
        options: The options, as many as the parent has, perhaps empty.
        answer: The 0-based index of the correct option; None if none is chosen.
        declared: The depth stated by the contributor, as text, or "".
        against: The name of the model that they want to fool, or "".
        was_separated: Whether the blank had to be separated from a word.
    """

    sentence: str
    options: tuple[str, ...]
    answer: int | None = None
    declared: str = ""
    against: str = ""
    was_separated: bool = field(default=False, compare=False)

    @classmethod
    def from_form(cls, form: Mapping[str, Any], options: int) -> SentenceInput:
        """Return the input of a submitted form, without invalid values.

        Args:
            form: The submitted form.
            options: The number of options.
        """
        answer = str(form.get("answer", ""))
        entered = checks.read_field(form, "sentence")
        sentence = separate_blank(entered)
        return cls(
            sentence,
            tuple(checks.read_field(form, f"option_{n}") for n in range(1, options + 1)),
            int(answer) if answer in map(str, range(options)) else None,
            checks.read_field(form, "declared"),
            checks.read_field(form, "against"),
            sentence != entered,
        )

    @classmethod
    def from_parent(cls, problem: Problem, against: str = "") -> SentenceInput:
        """Return the initial input for perturbing a problem: its texts, without an answer."""
        return cls(problem.sentence, tuple(problem.options), None, "", against)

    @classmethod
    def from_version(cls, problem: Problem, against: str = "") -> SentenceInput:
        """Return the initial input for revising a version."""
        declared = (problem.record.get("lineage") or {}).get("declared")
        return cls(
            problem.sentence,
            tuple(problem.options),
            problem.answer,
            "" if declared is None else str(declared),
            against,
        )

    def without_long_texts(self) -> SentenceInput:
        """Return the input without texts that are too long for the rules."""
        sentence = checks.read_if_short(self.sentence, checks.LONGEST_SENTENCE)
        options = tuple(
            checks.read_if_short(option, checks.LONGEST_OPTION) for option in self.options
        )
        return SentenceInput(
            sentence, options, self.answer, self.declared, self.against, self.was_separated
        )

    @property
    def depth(self) -> int | None:
        """Return the declared depth; None if it is missing or not valid."""
        usable = is_number(self.declared, 3)
        return int(self.declared) if usable else None


FEWEST_WORDS = 5
"""Minimum number of words; WinoGrande's range of 15 to 30 is for twins."""


@dataclass(frozen=True, slots=True)
class Place:
    """The position of a sentence in its family.

    Attributes:
        person: The writer; None for a visitor who has not written anything yet.
        path: The path from the root to the parent.
        revises: The version that the sentence replaces, or None.
    """

    person: Person | None
    path: Sequence[Problem]
    revises: Problem | None = None

    @classmethod
    def below(cls, person: Person | None, parent: Problem) -> Place:
        """Return the position of a new version of a problem."""
        return cls(person, path_from_root(parent))

    @classmethod
    def for_revision(cls, person: Person | None, old: Problem) -> Place:
        """Return the position of a version that replaces another version."""
        return cls(person, path_from_root(old)[:-1], old)

    @property
    def root(self) -> Problem:
        """Return the root of the family."""
        return self.path[0]

    @property
    def parent(self) -> Problem:
        """Return the problem that is perturbed."""
        return self.path[-1]


def are_usable(typed: SentenceInput) -> bool:
    """Return whether the options are distinct, and none is too long."""
    short = all(len(option) <= checks.LONGEST_OPTION for option in typed.options)
    return short and checks.are_distinct(typed.options)


def input_depths(typed: SentenceInput, place: Place) -> Depths | None:
    """Return the depths of the input; None unless it has exactly one blank."""
    if typed.sentence.count(BLANK) != 1:
        return None
    return measure_depths(place.path, typed.sentence, declared=typed.depth)


def run_checks(typed: SentenceInput, place: Place) -> list[Check]:
    """Return all checks, in the order of the form; checks wait while a text is too long."""
    read = typed.without_long_texts()
    found = [
        _check_blank(read),
        _check_length(typed),
        _check_changed(read, place),
        _check_new(read, place),
        _check_options(typed),
        _check_options_occur(read),
        _check_answer(typed, place),
    ]
    if typed.declared:
        found.append(_check_declared(read, place))
    if read.sentence == typed.sentence:
        return found
    measured = ("length", "options", "answer")
    return [one if one.rule in measured else one.as_todo() for one in found]


def _check_blank(typed: SentenceInput) -> Check:
    blanks = typed.sentence.count(BLANK)
    verdict: Verdict = "pass" if blanks == 1 else "fail" if typed.sentence else "todo"
    if blanks > 1:
        advice = _("Use only one underscore “_”; there are %d.") % blanks
    else:
        advice = _("Put an underscore “_” where the option belongs.")
    figure = _("separated from the words next to it") if typed.was_separated else ""
    return Check("blank", verdict, _("One blank"), figure, advice, "sentence")


def _check_length(typed: SentenceInput) -> Check:
    label = _("A whole sentence, not too long")
    if len(typed.sentence) > checks.LONGEST_SENTENCE:
        advice = _("Shorten it to %d characters.") % checks.LONGEST_SENTENCE
        return Check("length", "fail", label, "", advice, "sentence")
    number = len(words(typed.sentence))
    figure = ngettext("%d word", "%d words", number) % number if number else ""
    if kind_of_script(typed.sentence) == "unspaced":  # there are no words to count
        return Check("length", "pass", label, "", "", "sentence")
    advice = _("Write %d words or more.") % FEWEST_WORDS
    short: Verdict = "fail" if typed.sentence else "todo"
    verdict = "pass" if number >= FEWEST_WORDS else short
    return Check("length", verdict, label, figure, advice, "sentence")


def _check_changed(typed: SentenceInput, place: Place) -> Check:
    parent = place.parent
    same = version_digest(typed.sentence, typed.options) == version_digest(
        parent.sentence, parent.options
    )
    edits = edit_distance(tokens(parent.sentence), tokens(typed.sentence))
    figure = ngettext("%d edit", "%d edits", edits) % edits if edits else ""
    label, advice = (
        _("A change is made"),
        _("Change a word: the sentence is still the parent’s."),
    )
    return Check("changed", "todo" if same else "pass", label, figure, advice, "sentence")


def _check_new(typed: SentenceInput, place: Place) -> Check:
    label = _("New in its family")
    digest = version_digest(typed.sentence, typed.options)
    parent = place.parent
    if digest == version_digest(parent.sentence, parent.options) or not typed.sentence:
        return Check("new", "todo", label, "", "", "sentence")
    advice = _describe_copy(place, digest)
    return Check("new", "fail" if advice else "pass", label, "", advice, "sentence")


def _describe_copy(place: Place, digest: str) -> str:
    same = (
        Version.objects.filter(root=place.root, digest=digest)
        .exclude(problem__state__in=(*REMOVED_STATES, State.REJECTED))
        .exclude(problem__embargo=True)
    )
    if place.revises:
        same = same.exclude(problem=place.revises)
    found = same.select_related("problem__twin").first()
    if found is None:
        return _describe_half(place, digest)
    own = place.person is not None and found.problem.twin.contributor_id == place.person.pk
    if own:
        return _("You have already submitted this sentence; change one more word.")
    if found.parent_id is None:
        return _("This equals the original; change one more word.")
    return _("This sentence has already been submitted; change one more word.")


def _describe_half(place: Place, digest: str) -> str:
    halves = Problem.objects.select_related("twin").filter(twin=place.root.twin_id)
    for half in halves.exclude(pk=place.root.pk):
        seen = half.state not in REMOVED_STATES and is_visible_to(place.person, half)
        if seen and version_digest(half.sentence, half.options) == digest:
            return _("This is the other half of the original’s twin; change one more word.")
    return ""


def _check_options(typed: SentenceInput) -> Check:
    folded = [option.casefold() for option in typed.options]
    verdict: Verdict = "pass" if are_usable(typed) else "fail" if all(folded) else "todo"
    field = f"option_{folded.index('') + 1}" if "" in folded else "option_1"
    if "" in folded:
        advice = _("Fill in each option.")
    elif len(set(folded)) < len(folded):
        advice = _("The options must differ.")
    elif any(BLANK in option for option in folded):
        advice = _("An option can’t contain a blank.")
    else:
        advice = _("An option has at most %d characters.") % checks.LONGEST_OPTION
    return Check("options", verdict, _("The options are different"), "", advice, field)


def _check_options_occur(typed: SentenceInput) -> Check:
    label = _("The options are in the sentence")
    if not are_usable(typed) or not typed.sentence:
        return Check("occur", "todo", label, "", "", "option_1")
    text = _folded_words(typed.sentence)
    missing = [option for option in typed.options if f" {_without_article(option)} " not in text]
    advice = _("Not in the sentence: %s. Change the option along with the word, if you meant to.")
    advice %= ", ".join(f"“{option}”" for option in missing)
    return Check("occur", "note" if missing else "pass", label, "", advice, "option_1")


def _folded_words(text: str) -> str:
    return f" {' '.join(tokens(text))} ".casefold()


def _without_article(option: str) -> str:
    folded = _folded_words(option).split()
    return " ".join(folded[1:] if len(folded) > 1 and folded[0] in ("a", "an", "the") else folded)


def _check_answer(typed: SentenceInput, place: Place) -> Check:
    before = place.parent.answer
    figure = ""
    if typed.answer is not None and before is not None:
        figure = _("stays") if typed.answer == before else _("flipped")
    advice = _("Read your sentence again, and choose what the blank stands for now.")
    verdict: Verdict = "todo" if typed.answer is None else "pass"
    return Check("answer", verdict, _("The answer is chosen"), figure, advice, "answer")


def _check_declared(typed: SentenceInput, place: Place) -> Check:
    label = _("A valid declared depth")
    found = input_depths(typed, place)
    advice = ""
    if typed.depth is None:
        advice = _("Enter a whole number from 0 to 999, or leave it empty.")
    elif typed.depth == 0 and found is not None and found.edit:
        advice = _("0 is the depth of the original, which this sentence changes.")
    return Check(
        "declared", "fail" if advice else "pass", label, typed.declared, advice, "declared"
    )


SOURCE = "person"
"""The kind of perturber; in EvoGrad: people, a chat model, or WordNet."""


def is_revisable(person: Person | None, problem: Problem) -> bool:
    """Return whether a problem is the person's own version and can be revised."""
    version = Version.objects.filter(problem=problem, parent__isnull=False)
    return person is not None and may_revise(person, problem.twin) and version.exists()


def create_version(
    place: Place,
    typed: SentenceInput,
    key: str,
    *,
    before: Callable[[], object] | None = None,
) -> Problem:
    """Create a version from the input, once per key, and request every model's prediction.

    The version is stored as a single, judged and moderated like any problem, before any model reads
    it, so that no model can lose or delay it.

    Args:
        place: The place, with a person who has agreed to the current texts.
        typed: The new sentence, its options, and its answer.
        key: The key of the form; a repeated submission returns the same problem.
        before: A check, such as a rate limit, that must succeed first in the same transaction.

    Raises:
        RefusedError: A rule is violated; nothing was written.
        InputError: The person has not agreed to the texts, may not perturb that problem, or the
            revised version was decided or replaced in the meantime.
    """
    person = place.person
    assert person is not None  # noqa: S101 - nobody else writes

    def act() -> dict[str, str]:
        if not has_agreed(person):
            raise InputError(_("First agree to the site’s texts; your text is kept."))
        now = _lock_place(place)
        _check_rules(typed, now)
        if before:
            before()
        return {"problem": _create_version(person, typed, now).ref}

    what = f"revise {place.revises.ref}" if place.revises else f"perturb {place.parent.ref}"
    result, _new = process_once(person, key, what, act)
    return Problem.objects.select_related("twin").get(ref=result["problem"])


def _lock_place(place: Place) -> Place:
    """Return the current place, with its problem locked.

    Raises:
        InputError: The person may no longer perturb or revise it.
    """
    person, old = place.person, place.revises
    lock_family_root(old or place.parent)
    now = lock_problem((old or place.parent).pk)
    if old:
        if not is_revisable(person, now):
            raise InputError(
                _("This was decided or replaced in the meantime; it can’t be revised.")
            )
        return Place.for_revision(person, now)
    if not may_perturb(person, now):
        raise InputError(_("This sentence can no longer be perturbed: it was withdrawn."))
    return Place.below(person, now)


def submitted_problem(person: Person | None, key: str) -> str:
    """Return the `ref` of the problem that a form created; "" if it was not submitted."""
    return str(get_stored_result(person, key).get("problem", ""))


def _check_rules(typed: SentenceInput, place: Place) -> None:
    faults = group_by_field(
        one for one in run_checks(typed, place) if one.verdict in ("fail", "todo")
    )
    if faults:
        raise checks.RefusedError(faults)


def _create_version(person: Person, typed: SentenceInput, place: Place) -> Problem:
    old = place.revises
    embargo = retire_replaced_halves(person, old.twin) and not old.version.covered if old else False
    twin = Twin.objects.create(
        ref=new_ref(),
        contributor=person,
        source=SOURCE,
        domain=place.root.twin.domain,
        licence=settings.RULES.licence[:60],
        revises=old.twin if old else None,
    )
    half = Half(typed.sentence, typed.options, typed.answer)
    found = checks.moderator_hints([half], person, without=twin.revises_id, family=place.root)
    record = _build_record(typed, place)
    (problem,) = submit_twin(twin, [half], found, embargo=embargo, record=record)
    against = Model.objects.filter(name=typed.against, current=True).first()
    add_to_family(problem, place.parent, against=against)
    request_predictions(problem, urgent=True)
    return problem


def _build_record(typed: SentenceInput, place: Place) -> dict[str, object]:
    """Return the fields without a column; the pronoun is the parent's if the options are equal."""
    parent = place.parent
    edits = edit_script(tokens(parent.sentence), tokens(typed.sentence))
    same = list(typed.options) == list(parent.options)
    datum = Datum(
        "new",
        typed.sentence,
        typed.options,
        typed.answer,
        pronoun=parent.record.get("pronoun") if same else None,
        lineage=Lineage(place.root.ref, parent.ref, edits, typed.depth),
    )
    record = problem_record(datum)
    return {"single": True, **{key: record[key] for key in ("lineage", "pronoun") if key in record}}
