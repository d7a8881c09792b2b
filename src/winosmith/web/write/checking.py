"""What a contributor has typed, and the live checklist: each structural rule of WinoGrande.

A rule has passed, failed or can't be told yet. The verdicts are those of
`winosmith.validate.examine_structure`; here they get a figure, and words for the contributor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from winosmith import Dataset, Origin, Problem, text
from winosmith.problem import BLANK
from winosmith.text import with_blank_apart
from winosmith.validate import Examined, StructureRules, examine_structure
from winosmith.web.problems.checks import (
    LONGEST_OPTION,
    LONGEST_SENTENCE,
    Check,
    Verdict,
    tidy,
    told_apart,
)
from winosmith.web.problems.lookalikes import Half

DOMAINS = ("social", "physical")
"""WinoGrande's two (section 2): two people of one gender, or two objects."""


@dataclass(frozen=True, slots=True)
class Typed:
    """What a form holds.

    Attributes:
        domain: one of `DOMAINS`, or "".
        options: the two that both halves share, perhaps empty.
        sentences: of the first and of the second half, perhaps without a blank yet; a blank that
            was typed against a word stands apart from it.
        answers: the 0-based index of each half's right option; the second is preset to the other.
        parted: whether the blank of each sentence had to be set apart.
    """

    domain: str = ""
    options: tuple[str, str] = ("", "")
    sentences: tuple[str, str] = ("", "")
    answers: tuple[int | None, int | None] = (0, 1)
    parted: tuple[bool, bool] = field(default=(False, False), compare=False)

    @classmethod
    def of(cls, form: Mapping[str, Any]) -> Typed:
        """Return what a form, or a stored draft, holds, as far as it is one."""

        def text(name: str) -> str:
            return tidy(str(form.get(name, "")))

        def answer(name: str, preset: int) -> int | None:
            return {"0": 0, "1": 1, "": None}.get(str(form.get(name, preset)))

        domain = text("domain")
        first, second = text("sentence_1"), text("sentence_2")
        apart = with_blank_apart(first), with_blank_apart(second)
        return cls(
            domain if domain in DOMAINS else "",
            (text("option_1"), text("option_2")),
            apart,
            (answer("answer_1", 0), answer("answer_2", 1)),
            (apart[0] != first, apart[1] != second),
        )

    def as_form(self) -> dict[str, str]:
        """Return the fields of the form by their names, as JSON can hold them."""
        (option_1, option_2), (sentence_1, sentence_2) = self.options, self.sentences
        answers = ("" if answer is None else str(answer) for answer in self.answers)
        answer_1, answer_2 = answers
        return {
            "domain": self.domain,
            "option_1": option_1,
            "option_2": option_2,
            "sentence_1": sentence_1,
            "answer_1": answer_1,
            "sentence_2": sentence_2,
            "answer_2": answer_2,
        }

    def halves(self) -> tuple[Half, Half]:
        """Return both halves, with the options that are there."""
        options = tuple(option for option in self.options if option)
        first, second = (
            Half(sentence, options, answer if len(options) == 2 else None)
            for sentence, answer in zip(self.sentences, self.answers, strict=True)
        )
        return first, second

    @property
    def empty(self) -> bool:
        """Whether no text has been typed yet."""
        return not any((*self.options, *self.sentences))

    @property
    def size(self) -> int:
        """Characters, all in all."""
        return sum(map(len, (*self.options, *self.sentences)))


RULES = StructureRules("winogrande")
"""WinoGrande's rules for authors, for what an author is just writing."""

LEAST, MOST = RULES.length or (1, LONGEST_SENTENCE)
OVERLAP, EDIT = RULES.overlap or 0.0, RULES.edit or 1.0

OF_WORDS, OF_ENGLISH = ("length", "overlap", "edit distance"), ("anchor", "function word")
"""The rules that are not checked in text without spaces, and outside Latin letters."""

STAND_INS = ("option 1", "option 2")
"""Options of a half whose own can't be used yet; no rule that reads options is believed then."""


def anchor_of(sentences: Sequence[str], anchors: Sequence[str]) -> str:
    """Return the drawn words that every sentence holds; else the one that most of them hold.

    >>> anchor_of(["Boil the water now.", "Cool the water now."], ["boil", "water"])
    'water'
    """
    held = [set(map(str.lower, text.tokens(sentence))) for sentence in sentences]
    times = {word: sum(_within(word, words) for words in held) for word in anchors}
    both = [word for word in anchors if times[word] == len(held)]
    return " ".join(both) or max(anchors, key=lambda word: times[word], default="")


def examine(typed: Typed, anchors: Sequence[str]) -> list[Check]:
    """Return every check of a twin, in the order in which it is written."""
    usable = told_apart(typed.options)
    anchor = anchor_of(typed.sentences, anchors)
    rows: dict[int, int] = {}
    problems: list[Problem] = []
    for half, sentence in enumerate(typed.sentences):
        if sentence.count(BLANK) == 1 and sentence != BLANK:
            rows[half] = len(problems)
            problems.append(_problem(half, typed, usable, anchor))
    seen = _Seen(typed, tuple(anchors), usable, rows, examine_structure(Dataset(problems), RULES))
    return [
        _domain(typed),
        _options(typed, usable),
        *(check for half in (0, 1) for check in _of_half(seen, half)),
        *_of_twin(seen),
    ]


@dataclass(frozen=True, slots=True)
class _Seen:
    """What was examined, and what was found."""

    typed: Typed
    anchors: tuple[str, ...]
    usable: bool
    rows: dict[int, int]
    found: Examined

    def verdict(self, rule: str, half: int | None = None) -> Verdict:
        needed = self.rows.keys() if half is not None else {0, 1}
        if (half is not None and half not in self.rows) or needed != needed & self.rows.keys():
            return "todo"
        failed = self.found.failed(rule)
        if self.rows[half] in failed if half is not None else failed:
            return "fail"
        if self.is_unreadable(rule, half):
            return "unchecked"
        return "pass" if self.found.checked.get(rule) else "todo"

    def is_unreadable(self, rule: str, half: int | None = None) -> bool:
        """Tell whether a rule can't be checked in the script of a half, or of one of the two."""
        sentences = [self.typed.sentences[half]] if half is not None else self.typed.sentences
        if rule in OF_ENGLISH:
            return any(text.writing(one) != "latin" for one in (*sentences, *self.anchors))
        return rule in OF_WORDS and any(text.writing(one) == "unspaced" for one in sentences)

    def short(self, half: int) -> bool:
        if text.writing(self.typed.sentences[half]) == "unspaced":
            return False
        return len(text.words(self.typed.sentences[half])) < LEAST


def _problem(half: int, typed: Typed, usable: bool, anchor: str) -> Problem:
    return Problem(
        f"half-{half + 1}",
        typed.sentences[half],
        typed.options if usable else STAND_INS,
        typed.answers[half],
        twin_id="twin",
        origin=Origin(anchor=anchor or None),
    )


def _within(word: str, words: set[str]) -> bool:
    return set(text.content_words(word)) <= words


def _domain(typed: Typed) -> Check:
    verdict: Verdict = "pass" if typed.domain else "todo"
    advice = _("Say whether it is about people or about things.")
    return Check("domain", verdict, _("A domain is chosen"), "", advice, "domain")


def _options(typed: Typed, usable: bool) -> Check:
    long = any(len(option) > LONGEST_OPTION for option in typed.options)
    verdict: Verdict = "pass" if usable and not long else "fail" if all(typed.options) else "todo"
    if long:
        advice = _("An option has %d characters at most.") % LONGEST_OPTION
    elif all(typed.options):
        advice = _("The options must differ, and hold no blank.")
    else:
        advice = _("Give both options: the two people or things that the blank may stand for.")
    field = "option_1" if not typed.options[0] else "option_2"
    return Check("options differ", verdict, _("Two different options"), "", advice, field)


def _of_half(seen: _Seen, half: int) -> list[Check]:
    field = f"sentence_{half + 1}"
    checks = [_blank(seen, half, field), _length(seen, half, field), _present(seen, half, field)]
    return [*checks, _anchor(seen, half, field)] if seen.anchors else checks


def _blank(seen: _Seen, half: int, field: str) -> Check:
    sentence = seen.typed.sentences[half]
    count = sentence.count(BLANK)
    verdict: Verdict = "pass" if half in seen.rows else "fail" if count > 1 else "todo"
    if not sentence:
        advice = _("Write this half.")
    elif count > 1:
        advice = _("Leave one blank only; there are %d.") % count
    else:
        advice = _("Put the blank, an underscore “_”, where one of the options belongs.")
    figure = _("set apart from the word beside it") if seen.typed.parted[half] else ""
    return Check("blank", verdict, _("One blank “_”"), figure, advice, field, half)


def _length(seen: _Seen, half: int, field: str) -> Check:
    sentence = seen.typed.sentences[half]
    count = len(text.words(sentence))
    verdict = seen.verdict("length", half)
    if verdict == "todo" and count > MOST:
        verdict = "fail"
    if verdict == "fail" and count < LEAST:
        verdict = "todo"
    figure = str(count)
    if seen.is_unreadable("length", half):
        verdict, figure = "unchecked", ""
    label = _("%(least)d–%(most)d words") % {"least": LEAST, "most": MOST}
    if count < LEAST:
        missing = LEAST - count
        advice = ngettext("Write %d more word.", "Write %d more words.", missing) % missing
    else:
        extra = max(0, count - MOST)
        advice = ngettext("Take away %d word.", "Take away %d words.", extra) % extra
    if len(sentence) > LONGEST_SENTENCE:
        verdict, advice = "fail", _("A half has %d characters at most.") % LONGEST_SENTENCE
    return Check("length", verdict, label, figure, advice, field, half)


def _present(seen: _Seen, half: int, field: str) -> Check:
    typed = seen.typed
    verdict = seen.verdict("options", half) if seen.usable else "todo"
    if verdict == "fail" and seen.short(half):
        verdict = "todo"
    sentence = typed.sentences[half].casefold()
    absent = [option for option in typed.options if option.casefold() not in sentence]
    named = ", ".join(f"“{option}”" for option in absent if option)
    advice = _("The sentence must name both options; missing: %s.") % (named or "…")
    return Check("options", verdict, _("Both options are named"), "", advice, field, half)


def _anchor(seen: _Seen, half: int, field: str) -> Check:
    anchor = anchor_of(seen.typed.sentences, seen.anchors)
    verdict = seen.verdict("anchor", half)
    held = set(map(str.lower, text.tokens(seen.typed.sentences[half])))
    used = [word for word in seen.anchors if _within(word, held)]
    if verdict == "fail" and (seen.short(half) or (not used and seen.short(1 - half))):
        verdict = "todo"
    if used and verdict == "fail":
        advice = _("The halves must hold the same anchor word; take “%s”.") % anchor
    else:
        advice = _("Use one of the anchor words: %s.") % ", ".join(seen.anchors)
    return Check("anchor", verdict, _("An anchor word"), ", ".join(used), advice, field, half)


def _of_twin(seen: _Seen) -> list[Check]:
    checks = [_flipped(seen), _overlap(seen), _edit(seen)]
    if seen.anchors:
        verdict = seen.verdict("function word")
        advice = _("Draw other words: these hold no content.")
        label = _("The anchor is no function word")
        checks.append(Check("function word", verdict, label, "", advice, "sentence_1"))
    same = seen.verdict("same options") if seen.usable else "todo"
    label, advice = _("Both halves have the same options"), _("Write both halves.")
    return [*checks, Check("same options", same, label, "", advice, "option_2")]


def _flipped(seen: _Seen) -> Check:
    verdict = seen.verdict("flipped answers") if seen.usable else "todo"
    if verdict == "todo" and None not in seen.typed.answers and len(set(seen.typed.answers)) == 1:
        verdict = "fail"
    if None in seen.typed.answers:
        advice = _("Say for each half which option is right.")
    elif verdict == "fail":
        advice = _("Change the answer of one half, or the words that decide it.")
    else:
        advice = _("Write both halves.")
    return Check("flipped answers", verdict, _("Opposite answers"), "", advice, "answer_2")


def _overlap(seen: _Seen) -> Check:
    first, second = map(text.words, seen.typed.sentences)
    share = text.overlap(first, second) if first and second else 0.0
    is_told = first and second and not seen.is_unreadable("overlap")
    figure = f"{int(share * 100)} %" if is_told else ""
    label = _("At least %d %% of the words shared") % round(OVERLAP * 100)
    advice = _("Let the second half repeat the first but for the words that decide.")
    return Check("overlap", _patient(seen, "overlap"), label, figure, advice, "sentence_2")


def _edit(seen: _Seen) -> Check:
    first, second = map(text.tokens, seen.typed.sentences)
    figure = ""
    distance = text.edit_distance(first, second)
    longer = max(len(first), len(second))
    if first and second and not seen.is_unreadable("edit distance"):
        figure = _("%(distance)d of %(longer)d") % {"distance": distance, "longer": longer}
    label = _("A few words differ, %d %% at most") % round(EDIT * 100)
    same = first == second
    advice = (
        _("The halves are the same; change the words that decide the answer.")
        if same
        else _("Change fewer words between the halves.")
    )
    return Check(
        "edit distance",
        _patient(seen, "edit distance"),
        label,
        figure,
        advice,
        ("sentence_2"),
    )


def _patient(seen: _Seen, rule: str) -> Verdict:
    """Return the verdict on both halves; none is against one that is still being written."""
    verdict = seen.verdict(rule)
    unfinished = any(seen.short(half) for half in (0, 1))
    return "todo" if verdict == "fail" and unfinished else verdict
