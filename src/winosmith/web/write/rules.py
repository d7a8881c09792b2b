"""Drafts, checks during typing, and submitted or revised twins.

Each structural rule of WinoGrande is passed, failed, or not checked yet. The verdicts are those of
`winosmith.validate.examine_structure`, with a measured value and advice for the contributor.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext as _, ngettext

from winosmith import Dataset, Origin, Problem, text
from winosmith.errors import InputError
from winosmith.problem import BLANK
from winosmith.text import separate_blank
from winosmith.topics import Topic, open_topics
from winosmith.validate import DOMAINS, Examination, StructureRules, examine_structure
from winosmith.web._lock import writing
from winosmith.web.judge.submissions import may_revise, retire_replaced_halves, submit_twin
from winosmith.web.people.gates import get_stored_result, process_once
from winosmith.web.people.models import Person, check_still_active
from winosmith.web.people.privacy import get_pending_documents
from winosmith.web.problems import checks
from winosmith.web.problems.checks import Check, RefusedError, Verdict, read_field
from winosmith.web.problems.lookalikes import Half
from winosmith.web.problems.models import Twin
from winosmith.web.write.models import Draft

MAX_DRAFTS = 50
"""Maximum number of drafts per person."""

MAX_UNUSED_AGE = timedelta(hours=1)
"""Age after which an empty draft is deleted when the person draws another topic."""


class StaleDraftError(InputError):
    """Another window saved the draft after this window read it; `draft` has the newer input."""

    def __init__(self, draft: Draft):
        self.draft = draft
        super().__init__(_("This draft was changed in another window; choose which text to keep."))


def draw_topic() -> Topic:
    source = open_topics(settings.RULES.topics, settings.SITE.folder)
    return source.draw(secrets.randbits(32))


def start_draft(person: Person, topic: Topic) -> Draft:
    """Start a draft on a topic, and delete the person's drafts that stayed empty for an hour."""
    with writing():
        mine, since = Draft.objects.filter(person=person), timezone.now() - MAX_UNUSED_AGE
        mine.filter(version=0, revises=None, saved__lt=since).delete()
        if mine.count() >= MAX_DRAFTS:
            raise InputError(_("You have %d drafts; finish or discard some first.") % MAX_DRAFTS)
        return Draft.objects.create(person=person, **_make_topic_fields(topic))


def get_draft(person: Person | None, ref: str) -> Draft | None:
    if person is None:
        return None
    return Draft.objects.filter(person=person, ref=ref).first()


def list_drafts(person: Person | None) -> list[Draft]:
    """List a person's drafts that have input, most recently saved first."""
    if person is None:
        return []
    mine = Draft.objects.filter(person=person).exclude(version=0, revises=None)
    return list(mine.order_by("-saved"))


def save_draft(draft: Draft, typed: TwinInput, version: int) -> Draft:
    """Save a window's input unless another window has saved the draft in the meantime.

    `version` is the draft's version that the window last read or saved. Raises a StaleDraftError if
    another window saved first; nothing is overwritten.
    """
    with writing():
        now = _lock_draft(draft)
        if check_saveable(now, typed, version):
            _save_fields(now, typed=typed.as_form())
        return now


def check_saveable(draft: Draft, typed: TwinInput, version: int) -> bool:
    """Return whether the input differs from a draft's; refuse input that can't be saved."""
    if sum(map(len, (*typed.options, *typed.sentences))) > checks.MAX_CHARACTERS:
        fault = _("This is far too long for a twin: more than %d characters.")
        raise InputError(fault % checks.MAX_CHARACTERS)
    is_new = TwinInput.from_form(draft.typed) != typed
    if is_new and draft.version != version:
        raise StaleDraftError(draft)
    return is_new


def redraw_topic(draft: Draft, part: Literal["topic", "words"]) -> Draft:
    """Draw another topic, or other anchor words from the same topic, and keep the input."""
    if draft.revises_id:
        raise InputError(_("A revision must keep the topic and the anchor words of its twin."))
    if part == "topic":
        topic = draw_topic()
    else:
        for _try in range(10):
            topic = Topic(draft.topic, draft.text).with_anchors(secrets.randbits(32))
            if set(topic.anchors) != set(draft.anchors):
                break
    with writing():
        return _save_fields(_lock_draft(draft), **_make_topic_fields(topic))


def discard_draft(draft: Draft) -> None:
    with writing():
        Draft.objects.filter(pk=draft.pk).delete()


def _lock_draft(draft: Draft) -> Draft:
    now = Draft.objects.select_for_update().filter(pk=draft.pk).first()
    if now is None:
        raise InputError(_("This draft was submitted or discarded in another window."))
    return now


def _save_fields(draft: Draft, **columns: object) -> Draft:
    for name, value in columns.items():
        setattr(draft, name, value)
    draft.version += 1
    draft.saved = timezone.now()
    draft.save(update_fields=[*columns, "version", "saved"])
    return draft


def _make_topic_fields(topic: Topic) -> dict[str, object]:
    return {"topic": topic.title[:200], "text": topic.text, "anchors": list(topic.anchors)}


def delete_old_drafts(_now: datetime, cutoff: datetime) -> int:
    with writing():
        deleted, _rows = Draft.objects.filter(saved__lt=cutoff).delete()
    return int(deleted)


def delete_drafts(person: Person, _texts: bool) -> None:
    Draft.objects.filter(person=person).delete()


def transfer_drafts(account: Person, anonymous: Person) -> None:
    Draft.objects.filter(person=anonymous).update(person=account)


SOURCE = "crowd"
"""The source of texts written on the site, as stated in the data."""

FORM_RULES = ("domain", "options differ")
"""Rules on fields outside the halves. Other rules on the whole twin need both halves."""


def submit_draft(
    person: Person, typed: TwinInput, draft: Draft, *, precheck: Callable[[], object] | None = None
) -> str:
    """Create a twin from the input, once per draft, for judging or moderation; return its `ref`.

    The draft gives the topic, the anchor words, and the twin that the new one replaces. The same
    transaction runs `precheck` (a rate limit), which must succeed, and deletes the draft. The key
    is the draft's `ref`, so that a repeated submission returns the same twin.

    Raises a RefusedError if the twin violates a rule. Raises an InputError if the person has not
    agreed to the texts, or may not revise the twin.
    """
    # Checked before the database is locked, so that others need not wait.
    faults = _find_faults(typed, draft.anchors)
    found = (
        []
        if faults
        else checks.find_moderator_hints(typed.halves(), person, skip_twin=draft.revises_id)
    )

    def store_twin() -> dict[str, str]:
        if get_pending_documents(person):
            raise InputError(_("First agree to the site’s consent forms. Your text is kept."))
        if faults:
            raise RefusedError(faults)
        if precheck:
            precheck()
        embargo = retire_replaced_halves(person, draft.revises) if draft.revises else False
        problems = submit_twin(
            person,
            typed.halves(),
            found,
            embargo=embargo,
            source=SOURCE,
            domain=typed.domain,
            topic=draft.topic[:200],
            anchor=find_shared_anchors(typed.sentences, draft.anchors)[:200],
            revises=draft.revises,
        )
        Draft.objects.filter(person=person, ref=draft.ref).delete()
        return {"twin": problems[0].twin.ref}

    result, _new = process_once(person, draft.ref, "twin", store_twin)
    return str(result["twin"])


def find_submitted_twin(person: Person | None, key: str) -> str:
    """Return the `ref` of the twin that was submitted with a form key; "" if there is none."""
    return str(get_stored_result(person, key).get("twin", ""))


def open_revision(person: Person, twin: Twin) -> Draft:
    """Return the draft that revises a twin; if there is none, create it from the twin's text.

    Raises an InputError if the person can't revise the twin.
    """
    with writing():
        check_still_active(person)
        if not may_revise(person, twin):
            raise InputError(
                _("This twin can’t be revised: it was decided, replaced or withdrawn.")
            )
        draft, _new = Draft.objects.get_or_create(
            revises=twin,
            defaults={
                "person": person,
                "topic": twin.topic,
                "anchors": twin.anchor.split(),
                "typed": to_input(twin).as_form(),
            },
        )
        return draft


def to_input(twin: Twin) -> TwinInput:
    """Convert a twin to form input; a missing half is empty."""
    problems = list(twin.problems.order_by("pk"))
    options = tuple(problems[0].options[:2]) if problems else ("", "")
    form: dict[str, object] = {"domain": twin.domain, "answer_1": "", "answer_2": ""}
    form["option_1"], form["option_2"] = options
    for number, problem in enumerate(problems[:2], 1):
        form[f"sentence_{number}"] = problem.sentence
        form[f"answer_{number}"] = "" if problem.answer is None else problem.answer
    return TwinInput.from_form(form)


def _find_faults(typed: TwinInput, anchors: Sequence[str]) -> dict[str, list[str]]:
    """Find the faults of a submitted form, as advice by field; an empty half has only one fault."""
    open_checks = [
        check for check in check_twin(typed, anchors) if check.verdict in ("fail", "todo")
    ]
    first = [
        check
        for check in open_checks
        if (check.half is None or typed.sentences[check.half] or check.rule == "blank")
        and (check.verdict == "fail" or check.half is not None or check.rule in FORM_RULES)
    ]
    return checks.group_advice_by_field(first or open_checks)


@dataclass(frozen=True, slots=True)
class TwinInput:
    """The form input for a twin.

    Attributes:
        domain: One of `DOMAINS`, or "".
        sentences: The first and the second half. They may lack a blank. A blank that was typed next
            to a word is separated from it.
        answers: The 0-based index of each half's correct option, or None. The default differs by
            half.
        separated: Whether each sentence had a blank that was separated from a word.
    """

    domain: str = ""
    options: tuple[str, str] = ("", "")
    sentences: tuple[str, str] = ("", "")
    answers: tuple[int | None, int | None] = (0, 1)
    separated: tuple[bool, bool] = field(default=(False, False), compare=False)

    @classmethod
    def from_form(cls, form: Mapping[str, Any]) -> TwinInput:
        """Read the input from a form or a stored draft; invalid values are dropped."""

        def parse_answer(name: str, default: int) -> int | None:
            return {"0": 0, "1": 1, "": None}.get(str(form.get(name, default)))

        domain = read_field(form, "domain")
        first, second = (read_field(form, f"sentence_{number}") for number in (1, 2))
        separated = separate_blank(first), separate_blank(second)
        return cls(
            domain if domain in DOMAINS else "",
            (read_field(form, "option_1"), read_field(form, "option_2")),
            separated,
            (parse_answer("answer_1", 0), parse_answer("answer_2", 1)),
            (separated[0] != first, separated[1] != second),
        )

    def as_form(self) -> dict[str, str]:
        """Return the input as a JSON object with the form's field names."""
        form = {"domain": self.domain}
        for number in (1, 2):
            answer = self.answers[number - 1]
            form[f"option_{number}"] = self.options[number - 1]
            form[f"sentence_{number}"] = self.sentences[number - 1]
            form[f"answer_{number}"] = "" if answer is None else str(answer)
        return form

    def halves(self) -> tuple[Half, Half]:
        options = tuple(option for option in self.options if option)
        first, second = (
            Half(sentence, options, answer if len(options) == 2 else None)
            for sentence, answer in zip(self.sentences, self.answers, strict=True)
        )
        return first, second

    def without_long_texts(self) -> TwinInput:
        first, second = (
            checks.empty_if_long(one, checks.MAX_SENTENCE_LENGTH) for one in self.sentences
        )
        one, other = (
            checks.empty_if_long(option, checks.MAX_OPTION_LENGTH) for option in self.options
        )
        return TwinInput(self.domain, (one, other), (first, second), self.answers, self.separated)


RULES = StructureRules("winogrande")

MIN_WORDS, MAX_WORDS = RULES.length or (1, checks.MAX_SENTENCE_LENGTH)
MIN_OVERLAP = RULES.overlap or 0.0

WORD_RULES, ENGLISH_RULES = ("length", "overlap", "edit distance"), ("anchor", "function word")
"""Rules that are not checked in text without spaces, and rules that are checked only in Latin
script."""

PLACEHOLDER_OPTIONS = ("option 1", "option 2")
"""Options used while the typed options are invalid. Results of rules on options are ignored
meanwhile."""


def find_shared_anchors(sentences: Sequence[str], anchors: Sequence[str]) -> str:
    """Return the anchor words that all sentences use or, if there are none, the most used one.

    >>> find_shared_anchors(["Boil the water now.", "Cool the water now."], ["boil", "water"])
    'water'
    """
    found = [set(map(str.lower, text.tokenize(sentence))) for sentence in sentences]
    times = {word: sum(_contains_word(word, words) for words in found) for word in anchors}
    both = [word for word in anchors if times[word] == len(found)]
    return " ".join(both) or max(anchors, key=lambda word: times[word], default="")


def check_twin(typed: TwinInput, anchors: Sequence[str]) -> list[Check]:
    """Check a twin against all rules; return the results in form order.

    A separate check reports text that is too long, in which case the other rules are not checked.
    """
    whole, typed = typed, typed.without_long_texts()
    usable = checks.are_usable_options(typed.options)
    anchor = find_shared_anchors(typed.sentences, anchors)
    problems = {
        half: Problem(
            f"half-{half + 1}",
            sentence,
            typed.options if usable else PLACEHOLDER_OPTIONS,
            typed.answers[half],
            twin_id="twin",
            origin=Origin(anchor=anchor or None),
        )
        for half, sentence in enumerate(typed.sentences)
        if sentence.count(BLANK) == 1 and sentence != BLANK
    }
    found = examine_structure(Dataset(problems.values()), RULES)
    rows = {half: row for row, half in enumerate(problems)}
    data = _CheckedInput(typed, tuple(anchors), usable, rows, found)
    chosen: Verdict = "pass" if typed.domain else "todo"
    advice = _("Choose whether the twin is about people or about things.")
    domain = Check("domain", chosen, _("A domain is chosen"), "", advice, "domain")
    results = [domain, checks.check_options(whole.options)]
    for half, sentence in enumerate(whole.sentences):
        results += _check_half(data, half, sentence)
    results += [_check_answers_differ(data), _check_overlap(data), _check_edit_distance(data)]
    if anchors:
        label = _("The anchor word is not a word such as “the”")
        advice = _("Draw other words: words such as “the” say too little about the topic.")
        verdict = data.get_verdict("function word")
        results.append(Check("function word", verdict, label, "", advice, "sentence_1"))
    label, advice = _("Both halves have the same options"), _("Write both halves.")
    same = data.get_verdict("same options") if usable else "todo"
    results.append(Check("same options", same, label, "", advice, "option_2"))
    return results


@dataclass(frozen=True, slots=True)
class _CheckedInput:
    """The checked input and the findings; `rows` maps halves with one blank to rows of `found`."""

    typed: TwinInput
    anchors: tuple[str, ...]
    usable: bool
    rows: dict[int, int]
    found: Examination

    def get_verdict(self, rule: str, half: int | None = None) -> Verdict:
        needed = {0, 1} if half is None else {half}
        if not needed <= self.rows.keys():
            return "todo"
        failed = self.found.find_failed_rows(rule)
        if any(self.rows[each] in failed for each in needed):
            return "fail"
        if self.is_unreadable(rule, half):
            return "unchecked"
        return "pass" if self.found.checked.get(rule) else "todo"

    def is_unreadable(self, rule: str, half: int | None = None) -> bool:
        """Return whether a rule can't be checked because of a half's writing system."""
        sentences = [self.typed.sentences[half]] if half is not None else self.typed.sentences
        if rule in ENGLISH_RULES:
            return any(text.detect_script(one) != "latin" for one in (*sentences, *self.anchors))
        if rule not in WORD_RULES:
            return False
        return any(text.detect_script(one) == "unspaced" for one in sentences)

    def is_short(self, half: int) -> bool:
        if text.detect_script(self.typed.sentences[half]) == "unspaced":
            return False
        return len(text.split_words(self.typed.sentences[half])) < MIN_WORDS


def _contains_word(word: str, words: set[str]) -> bool:
    return set(text.find_content_words(word)) <= words


def _check_half(data: _CheckedInput, half: int, typed_text: str) -> list[Check]:
    field = f"sentence_{half + 1}"
    sentence, separated = data.typed.sentences[half], data.typed.separated[half]
    found = [
        checks.check_blank(sentence, field, separated=separated, half=half),
        _check_length(data, half, field),
        _check_options_named(data, half, field),
    ]
    if data.anchors:
        found.append(_check_anchor(data, half, field))
    if typed_text == sentence:
        return found
    advice = _("A half can have at most %d characters.") % checks.MAX_SENTENCE_LENGTH
    return [
        Check("length", "fail", one.label, "", advice, field, half)
        if one.rule == "length"
        else one.as_todo()
        for one in found
    ]


def _check_length(data: _CheckedInput, half: int, field: str) -> Check:
    sentence = data.typed.sentences[half]
    count = len(text.split_words(sentence))
    verdict = data.get_verdict("length", half)
    if verdict == "todo" and count > MAX_WORDS:
        verdict = "fail"
    if verdict == "fail" and count < MIN_WORDS:
        verdict = "todo"
    figure = str(count)
    if data.is_unreadable("length", half):
        verdict, figure = "unchecked", ""
    label = _("%(least)d–%(most)d words") % {"least": MIN_WORDS, "most": MAX_WORDS}
    if count < MIN_WORDS:
        missing = MIN_WORDS - count
        advice = ngettext("Write %d more word.", "Write %d more words.", missing) % missing
    else:
        extra = max(0, count - MAX_WORDS)
        advice = ngettext("Delete %d word.", "Delete %d words.", extra) % extra
    return Check("length", verdict, label, figure, advice, field, half)


def _check_options_named(data: _CheckedInput, half: int, field: str) -> Check:
    typed = data.typed
    verdict = data.get_verdict("options", half) if data.usable else "todo"
    if verdict == "fail" and data.is_short(half):
        verdict = "todo"
    sentence = typed.sentences[half].casefold()
    absent = [option for option in typed.options if option.casefold() not in sentence]
    named = ", ".join(f"“{option}”" for option in absent if option)
    # If an option is empty, its field reports that.
    advice = _("The sentence must name both options; missing: %s.") % named if named else ""
    return Check("options", verdict, _("Both options are named"), "", advice, field, half)


def _check_anchor(data: _CheckedInput, half: int, field: str) -> Check:
    anchor = find_shared_anchors(data.typed.sentences, data.anchors)
    verdict = data.get_verdict("anchor", half)
    words = set(map(str.lower, text.tokenize(data.typed.sentences[half])))
    used = [word for word in data.anchors if _contains_word(word, words)]
    if verdict == "fail" and (data.is_short(half) or (not used and data.is_short(1 - half))):
        verdict = "todo"
    if used and verdict == "fail":
        advice = _("The halves must contain the same anchor word; use “%s”.") % anchor
    else:
        advice = _("Use one of the anchor words: %s.") % ", ".join(data.anchors)
    return Check("anchor", verdict, _("An anchor word"), ", ".join(used), advice, field, half)


def _check_answers_differ(data: _CheckedInput) -> Check:
    verdict = data.get_verdict("flipped answers") if data.usable else "todo"
    if verdict == "todo" and None not in data.typed.answers and len(set(data.typed.answers)) == 1:
        verdict = "fail"
    if None in data.typed.answers:
        advice = _("Choose the correct option for each half.")
    elif verdict == "fail":
        advice = _("The halves must have opposite answers; choose the other option for one half.")
    else:
        advice = _("Write both halves.")
    return Check("flipped answers", verdict, _("Opposite answers"), "", advice, "answer_2")


def _check_overlap(data: _CheckedInput) -> Check:
    first, second = map(text.split_words, data.typed.sentences)
    share = text.compute_overlap(first, second) if first and second else 0.0
    is_shown = first and second and not data.is_unreadable("overlap")
    figure = f"{int(share * 100)} %" if is_shown else ""
    label = _("At least %d %% of the words shared") % round(MIN_OVERLAP * 100)
    advice = _(
        "The second half must repeat the first, except for the words that decide the answer."
    )
    return Check("overlap", _get_verdict(data, "overlap"), label, figure, advice, "sentence_2")


def _check_edit_distance(data: _CheckedInput) -> Check:
    first, second = map(text.tokenize, data.typed.sentences)
    figure = ""
    if first and second and not data.is_unreadable("edit distance"):
        distance = text.compute_edit_distance(first, second)
        figure = ngettext("%d edit", "%d edits", distance) % distance
    advice = _("The halves are the same; change the words that decide the answer.")
    verdict = _get_verdict(data, "edit distance")
    return Check("edit distance", verdict, _("The halves differ"), figure, advice, "sentence_2")


def _get_verdict(data: _CheckedInput, rule: str) -> Verdict:
    """Return one verdict on both halves; it is "todo", not "fail", if a half is unfinished."""
    verdict = data.get_verdict(rule)
    unfinished = any(data.is_short(half) for half in (0, 1))
    return "todo" if verdict == "fail" and unfinished else verdict
