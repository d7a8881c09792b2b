"""Multiple-choice questions: rows with question, choices and answer in columns of any name.

All answers in a file are of one kind: letters, numbers or texts. A premise and a hypothesis form
one question, whose choices are all labels in the file. If the correct and incorrect answers have
separate columns, the choices are put in random order. Choices that are labelled in another order
(A, D, C, B) are put in the order of their labels. Additional columns are stored in `extra` as
`questions.NAME`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import chain, islice, product
from string import ascii_uppercase, digits, punctuation
from typing import IO, Any, TypeVar

from winosmith import data
from winosmith.data import Place, Record
from winosmith.dataset import ColumnRoles
from winosmith.errors import AdvisedText, FormatError, ProblemError
from winosmith.formats import _base, _rows
from winosmith.formats._answers import (
    KINDS,
    find_contradiction,
    find_repeated_keys,
    interpret_answer,
    interpret_labels,
    match_choices,
    refuse_mixed_scripts,
)
from winosmith.formats._base import Entry, Format, Writer
from winosmith.formats._choices import (
    PREFIX,
    find_flagged,
    get_cell_text,
    get_turns,
    make_several_correct_error,
    parse_choices,
    shuffle_by_hash,
)
from winosmith.formats._columns import Columns, Plan, has_blank, is_empty, make_plan
from winosmith.formats._letters import LETTER_KINDS, SERIES
from winosmith.formats._names import (
    INDEX,
    RESERVED,
    UNIQUE_ID,
    collect_names,
    is_answer_name,
    normalise,
)
from winosmith.problem import BLANK, Extra, Problem
from winosmith.records import dump_json

_FAILURE_RATIO = 5
"""If no kind fits all answers, others must fail at least this many times as often as the best."""

_MAX_REPEATED, _MIN_REPEATED = 0.05, 10
"""If more than this fraction and at least this number of rows repeat another row's id, the ids
identify texts with several questions, not single questions."""

_WITHHELD = {"-", "-1.0", "?", "n/a", "none", "null"}
"""Values that mean that there is no answer, unless they are choices."""

SourceRow = data.Row[Record]
T = TypeVar("T")


@dataclass(slots=True)
class _Draft:
    """A row that will become a problem, or the reason why it can't be read.

    Attributes:
        reason: why the row can't be read; None if it can be read.
        labels: the labels or column names of the choices; empty if there are none.
        answer: the answer as written in the file; None if it is withheld.
        key: the correct choice if the row flags it; otherwise None.
        extra: the additional columns by name.
        original_options: the choices before their letters or numbers were removed.
    """

    place: Place
    raw: str
    reason: str | None = None
    id: str = ""
    question: str = ""
    options: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    answer: Any = None
    key: int | None = None
    extra: dict[str, Any] = field(default_factory=dict)
    original_options: tuple[str, ...] = ()
    blank: int | None = None
    twin_id: str | None = None
    _readings: dict[str, int] | None = None

    @property
    def positions(self) -> tuple[int, ...]:
        """The positions of the labels in their series; () if they are texts or don't begin one."""
        return () if self.labels == self.options else _locate_labels(self.labels)

    def get_readings(self) -> dict[str, int]:
        if self._readings is None:
            self._readings = self.interpret(self.answer)
        return self._readings

    def interpret(self, answer: Any) -> dict[str, int]:
        found = interpret_answer(answer, self.options, self.labels, self.original_options)
        if "label" not in found and self.positions and not found.keys().isdisjoint(LETTER_KINDS):
            named = interpret_answer(answer, self.options, _strip_labels(self.labels))
            found |= {kind: at for kind, at in named.items() if kind == "label"}
        return found

    def get_correct_choice(self, kind: str | None) -> int | None:
        """Return the correct choice, or None if the answer is withheld or matches no choice."""
        return self.key if self.answer is None or kind is None else self.get_readings().get(kind)


def read_questions(
    rows: Iterable[SourceRow],
    columns: Columns = Columns(),  # noqa: B008 - frozen
    on_progress: Callable[[float], object] | None = None,
) -> tuple[list[Entry], list[str], ColumnRoles]:
    """Read rows as questions; return one sentence for each assumption, and the columns' roles.

    Columns that are not in `columns` are detected. After all rows are parsed, `on_progress` is
    called regularly with the finished fraction.
    """
    found, notes = _rows.shape_rows(rows, columns)
    names = collect_names(row.values or {} for row in found)
    if not names:
        if not found:
            raise FormatError("there are no rows")
        bad = [Entry(row.place, row.raw, reason=row.reason) for row in found]
        return bad, [], ColumnRoles(QUESTIONS.name)
    plan = make_plan(names, columns, [row.values for row in found if row.values is not None])
    plan, id_notes = _drop_repeated_ids(plan, found, columns)
    notes += id_notes + plan.make_notes(columns)

    if gaps := _count_na_rows([row.values for row in found if row.values], plan, columns.answer_is):
        notes.append(
            f"{plan.choices[-1]!r} is 'NA' in {gaps:,} rows; these cells are read as empty"
        )
    used, rows_read = plan.used_columns, list[_Draft]()
    left = _report_progress(found, _rows.PARSED_FRACTION, _rows.DRAFTED_FRACTION, on_progress)
    for number, (place, raw, row, reason) in enumerate(left):
        draft = _Draft(place, raw, reason, str(number))
        rows_read.append(draft)
        if row is not None:
            try:
                _fill_draft(draft, row, plan, gaps > 0)
                draft.extra = {name: value for name, value in row.items() if name not in used}
            except ProblemError as error:
                draft.reason = str(error)
    drafts = [draft for draft in rows_read if draft.reason is None]
    if plan.labels_are_choices:
        notes += _set_label_choices(drafts, is_declared=columns.choices == (plan.answer,))
        drafts = [draft for draft in drafts if draft.reason is None]
    else:
        notes += _remove_markers(drafts)
    odd = [draft for draft in drafts if [*draft.positions] != [*range(len(draft.positions))]]
    moved = [draft for draft in odd if max(draft.positions) < len(draft.positions)]
    for some, how in (
        (moved, "in another order, such as {}; they are put in the order of their labels"),
        ([one for one in odd if max(one.positions) >= len(one.labels) == len("".join(one.labels))],
         "with gaps, such as {}; letters in files of answers mean positions"),
    ):  # fmt: skip
        if some:
            how = how.format(", ".join(some[0].labels))
            notes.append(f"the choices of {len(some):,} questions are labelled {how}")
    if plan.may_have_blanks:
        notes += _mark_blanks(drafts)
    kind = columns.answer_is or _detect_kind(drafts)
    for draft in moved if kind not in ("label", "text", columns.answer_is) else ():
        at = draft.get_correct_choice(kind)
        if draft.answer is not None and at is not None and draft.positions[at] != at:
            raise FormatError.advise(
                f"the answer {draft.answer!r} is not a label, and the choices are labelled in "
                f"another order ({', '.join(draft.labels)})",
                "answer_is",
                f"; write labels, or use `answer_is={kind!r}` if it counts choices as listed",
                *draft.place[:3],
            )
    if kind in LETTER_KINDS:
        refuse_mixed_scripts((draft.answer, draft.place) for draft in drafts)
    withheld = sum(draft.answer is None and draft.key is None for draft in drafts)
    if drafts and withheld == len(drafts):
        why = f"{plan.answer!r} has none" if plan.answer else "no answer column was found"
        notes.append(
            AdvisedText(
                f"no question has an answer, because {why}",
                "answer",
                f"; name the answer column with `answer=`{_suggest_answer_columns(drafts)}",
            )
        )
    elif withheld:
        if columns.answer is None:
            _refuse_second_answer_column(drafts)
        have = "have" if withheld > 1 else "has"
        notes.append(f"{withheld:,} of {len(rows_read):,} questions {have} no answer")
    if kind == "1" and columns.answer_is is None:
        fits = Counter(k for d in drafts if d.answer is not None for k in d.get_readings())
        notes.append(
            AdvisedText(
                "the answers are read as numbers from 1 (the first option), which fit "
                f"{fits['1']:,} of {len(drafts) - withheld:,} answers; numbers from 0 fit "
                f"{fits['0']:,}",
                "answer_is",
                "; use `answer_is='1'` to confirm this, or `answer_is='0'` if 0 is the first "
                "option",
            )
        )
    others = collect_names(draft.extra for draft in drafts)
    if kind is not None and any(map(is_answer_name, others)):
        keyed = [(d.place, d.extra, partial(_interpret_cell, d), key)
                 for d in drafts if (key := d.get_correct_choice(kind)) is not None]  # fmt: skip
        is_known = columns.answer is not None or plan.labels_are_choices
        repeated, key_notes = find_repeated_keys(
            keyed, dict(zip(others, others, strict=True)), plan.answer or "", is_known=is_known
        )
        notes += key_notes
        for draft, name in product(drafts, repeated):
            draft.extra.pop(name, None)
    try:
        keys = _base.make_extra_keys(QUESTIONS.name, others)
    except ProblemError as error:
        raise FormatError(str(error)) from None
    del drafts
    choices = plan.choices or tuple(filter(None, (plan.answer, *plan.distractors)))
    rest = tuple(name for name in others if name not in plan.question)
    roles = ColumnRoles(QUESTIONS.name, plan.question, choices, plan.answer, kind, plan.id, rest)
    return [
        _base.build_entry(draft.place, draft.raw, _make_problem, draft, kind, keys)
        for draft in _report_progress(rows_read, _rows.DRAFTED_FRACTION, 1, on_progress)
    ], notes, roles  # fmt: skip


def _report_progress(
    items: list[T], start: float, end: float, on_progress: Callable[[float], object] | None
) -> Iterator[T]:
    """Yield items, and report progress from the fraction `start` to the fraction `end`.

    Each item is removed from the list, to free memory.
    """
    count = len(items)
    items.reverse()
    for at in range(count):
        if on_progress and at % _rows.PROGRESS_INTERVAL == 0:
            on_progress(start + (end - start) * at / count)
        yield items.pop()


def _drop_repeated_ids(
    plan: Plan, rows: Sequence[SourceRow], columns: Columns
) -> tuple[Plan, list[str]]:
    if plan.id is None or plan.id == columns.id:
        return plan, []
    cells = [row[plan.id] for _, _, row, _ in rows if row and not is_empty(row.get(plan.id))]
    ids = [data.format_cell(value) for value in cells]
    repeats = len(ids) - len({*ids})
    note = (
        f"{plan.id!r} is not used as the question id, because {repeats:,} of {len(ids):,} rows "
        f"repeat{'s' * (repeats == 1)} another row's value; the questions are numbered instead"
    )
    if normalise(plan.id) in (*UNIQUE_ID, *INDEX):
        if 0 < repeats <= _MAX_REPEATED * len(ids):
            advice = f" (`id={plan.id!r}` uses it, and reports these rows)"
            return replace(plan, id=None), [AdvisedText(note, "id", advice)]
        return plan if not repeats and len(ids) == len(rows) else replace(plan, id=None), []
    if repeats < max(_MIN_REPEATED, _MAX_REPEATED * len(ids)):
        return plan, []
    return replace(plan, id=None), [note]


def _count_na_rows(rows: Sequence[Record], plan: Plan, answer_is: str | None) -> int:
    """Return the number of rows whose last choice is "NA", if "NA" is a missing value from R.

    If all rows have "NA", or an answer names it, "NA" is a choice, and the result is 0. An answer
    "NA" names this choice only if other answers are texts of choices.
    """
    with_na = [row for row in rows if row.get(plan.choices[-1]) == "NA"] if plan.choices[2:] else []
    if not with_na or len(with_na) == len(rows):
        return 0
    parsed = list[tuple[Any, dict[str, int]]]()
    for row in rows:
        answer, cells = row.get(plan.answer or ""), [row.get(name) for name in plan.choices]
        try:
            kinds = interpret_answer(answer, [*map(get_cell_text, cells)], plan.choices)
        except ProblemError:
            kinds = {}
        parsed.append((answer, kinds))
    are_texts = any("text" in kinds for answer, kinds in parsed if not data.is_missing(answer))
    # A number that fits only from 0, or only from 1, shows how all answers are numbered.
    numberings = [{"0", "1"} & kinds.keys() for _, kinds in parsed]
    certain = {*chain.from_iterable(one for one in numberings if len(one) == 1)}
    excluded = {"0", "1"} - certain if len(certain) == 1 else set()
    for row, (answer, kinds) in zip(rows, parsed, strict=True):
        choices = (kinds[k] for k in kinds.keys() - excluded if answer_is in (None, k))
        named = {row.get(plan.choices[choice]) for choice in choices}
        if named == {"NA"} and (are_texts or not data.is_missing(answer)):
            return 0
    return len(with_na)


def _fill_draft(draft: _Draft, row: Record, plan: Plan, na_is_empty: bool) -> None:
    texts = [_get_question_text(row, name, name in plan.passages) for name in plan.question]
    draft.question = " ".join(filter(None, texts) if plan.passages else texts)
    answer = None if plan.answer is None else row.get(plan.answer)
    if plan.distractors:
        distractors = [row.get(name) for name in plan.distractors]
        draft.options, draft.key = shuffle_by_hash(draft.question, answer, distractors, plan)
        answer = None
    elif len(plan.choices) == 1:
        name = plan.choices[0]
        found = parse_choices(row.get(name), name, has_answer=not is_empty(answer))
        draft.options, draft.labels = found.options, found.labels
        if found.correct and data.is_missing(answer):
            if len(found.correct) > 1:
                raise make_several_correct_error([found.options[at] for at in found.correct])
            draft.key, answer = found.correct[0], None
    elif plan.choices:
        cells = [row.get(name) for name in plan.choices]
        while cells and (is_empty(cells[-1]) or (na_is_empty and cells[2:] and cells[-1] == "NA")):
            cells.pop()
        for column, cell in zip(plan.choices, cells, strict=False):
            if is_empty(cell):
                raise ProblemError(
                    f"the choice {column!r} is empty, but a later choice is not: fill it in, or "
                    "move the later choices up and adapt the answer"
                )
        draft.options, draft.labels = tuple(map(get_cell_text, cells)), plan.choices[: len(cells)]
    flags = find_flagged(answer, len(draft.options))
    if flags is not None and len(flags) == 1 and len(draft.options) > 1:
        draft.key, answer = flags[0], None
    draft.answer = answer = _clean_answer(answer)
    if (missing := data.is_missing(answer)) or str(answer).casefold() in _WITHHELD:
        is_class = plan.labels_are_choices and not missing and answer != "-"
        plain = [PREFIX.sub("", option, count=1) for option in draft.options]  # without "A."
        if not is_class and not draft.interpret(answer):
            draft.answer = answer if interpret_answer(answer, plain, draft.labels) else None
    if plan.id is not None and (own_id := row.get(plan.id)) not in (None, ""):
        draft.id = data.format_cell(own_id)


def _get_question_text(row: Record, column: str, is_optional: bool) -> str:
    value = row.get(column)
    if isinstance(value, str):
        return value
    if value is None and not is_optional:
        raise ProblemError(f"the row has no {column!r}")
    if turns := get_turns(value):
        return " ".join(turns)
    if isinstance(value, Mapping) and value.keys() == {"text"}:  # of HELM
        value = value["text"]
    if is_optional and isinstance(value, list | tuple):  # the turns of a dialogue
        return " ".join(map(get_cell_text, value))
    return get_cell_text(value)


def _clean_answer(value: Any) -> Any:
    if isinstance(value, list | tuple):
        if len(value) > 1:
            raise make_several_correct_error(value)
        value = value[0] if value else None
    if isinstance(value, str):
        value = value.strip()
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    is_withheld = value in (None, "", "-1") or (value == -1 and not isinstance(value, bool))
    return None if is_withheld else value


def _interpret_cell(draft: _Draft, cell: Any) -> dict[str, int]:
    return draft.interpret(_clean_answer(cell))


def _refuse_second_answer_column(drafts: Sequence[_Draft]) -> None:
    withheld = [draft for draft in drafts if draft.answer is None and draft.key is None]
    answered = (draft for draft in drafts if draft.answer is not None or draft.key is not None)
    filled = {name for one in answered for name, cell in one.extra.items() if not is_empty(cell)}
    for draft in withheld:
        for name, cell in draft.extra.items():
            if is_answer_name(name) and name not in filled and _interpret_cell(draft, cell):
                reason = (
                    f"the answer is in {name!r} only in some rows, such as this one; use one name"
                )
                advice = ", or name the column with `answer=`"
                raise FormatError.advise(reason, "answer", advice, *draft.place[:3])


def _set_label_choices(drafts: Sequence[_Draft], *, is_declared: bool) -> list[str]:
    """Use all labels in the file as each draft's choices, and reject misspelt labels."""
    places: defaultdict[str, list[Place]] = defaultdict(list)
    for draft in drafts:
        if draft.answer is not None:
            label = " ".join(str(draft.answer).split())
            draft.answer = data.parse_whole_number(label) or label
            places[draft.answer].append(draft.place)
    choices, choice_of, faults, notes = interpret_labels(places, is_declared=is_declared)
    if not 2 <= len(choices) <= len(ascii_uppercase):
        raise FormatError(f"there are {len(choices)} different labels; 2 to 26 are allowed")
    for draft in drafts:
        draft.options = draft.labels = choices
        draft.reason = faults.get(draft.answer)
        draft.answer = choice_of.get(draft.answer)
    return notes


def _remove_markers(drafts: Sequence[_Draft]) -> list[str]:
    """Remove the letters or numbers before the choices ("A.", "(2)") if all choices have them."""
    markers = [_find_markers(draft) for draft in drafts]
    if not any(markers):
        return []
    if not all(markers):
        return [
            f"the choices of {sum(map(bool, markers)):,} of {len(drafts):,} questions begin with "
            "letters such as 'A.', which are kept because other questions have none"
        ]
    for draft, labels in zip(drafts, markers, strict=True):
        draft.original_options, draft.labels = draft.options, labels
        draft.options = tuple(PREFIX.sub("", option, count=1) for option in draft.options)
    return [f"the letters or numbers before choices ({markers[0][0]!r}, …) are removed"]


def _find_markers(draft: _Draft) -> tuple[str, ...]:
    """Return the letters or numbers before the choices, if they form a series."""
    if draft.labels or not draft.options:
        return ()
    markers = list[str]()
    for option in draft.options:
        if not (match := PREFIX.match(option)):
            return ()
        markers.append(match[1] or match[2] or match[3])
    is_series = any(sorted(markers) == sorted(series[: len(markers)]) for series in SERIES)
    return tuple(markers) if is_series else ()


def _mark_blanks(drafts: Sequence[_Draft]) -> list[str]:
    """Treat `_` between words as the blank if at least half of the texts have one."""
    with_blank = [draft for draft in drafts if has_blank(draft.question)]
    if not with_blank or 2 * len(with_blank) < len(drafts):
        return []
    for draft in with_blank:
        draft.blank = draft.question.index(BLANK)
        twin = draft.extra.pop("twin_id", None)
        draft.twin_id = None if is_empty(twin) else data.format_cell(twin).strip()
    others = len(drafts) - len(with_blank)
    many = f"{others:,} of {len(drafts):,} texts"
    return [f"{many} do not have exactly one '_', and are read as questions"] if others else []


def _detect_kind(drafts: Sequence[_Draft]) -> str | None:
    answered = [(draft, draft.get_readings()) for draft in drafts if draft.answer is not None]
    if not answered:
        return None
    fits = Counter(kind for _, readings in answered for kind in readings)
    label = "label"
    if all(readings.get("label") == readings.get("letter") for _, readings in answered):
        label = "letter"  # of columns A, B, …
        fits.pop("label", None)
    if fits[label] == len(answered):
        return label
    if not fits:
        draft = answered[0][0]
        raise FormatError.advise(
            f"the answer {draft.answer!r} is neither a choice nor a choice's letter or number",
            "answer",
            "; name the answer column with `answer=`, or write only letters in that column",
            *draft.place[:3],
        )
    (best, most), *others = fits.most_common()
    for other, count in others:
        if len(answered) - count >= max(1, _FAILURE_RATIO * (len(answered) - most)):
            continue
        unequal = [(draft, r) for draft, r in answered if r.get(best) != r.get(other)]
        if not any(other in readings for _, readings in unequal):  # `best` explains them all
            continue
        place, first = unequal[0][0].place, unequal[0][0].answer
        if not any(best in r and other in r for _, r in unequal):  # they never contradict
            ours, theirs = ([d for d, r in unequal if kind in r] for kind in (best, other))
            raise place.make_error(
                f"{len(ours):,} answers are {KINDS[best]}, such as {ours[0].answer!r}, and "
                f"{len(theirs):,} are {KINDS[other]}, such as {theirs[0].answer!r}; use one kind"
            )
        raise FormatError.advise(
            f"the answers can be read as {KINDS[best]} or as {KINDS[other]}, which differ in "
            f"{len(unequal):,} rows, such as for {first!r} in this one",
            "answer_is",
            f". Choose one with `answer_is={best!r}` or `answer_is={other!r}`",
            *place[:3],
        )
    return best


def _suggest_answer_columns(drafts: Sequence[_Draft]) -> str:
    examples = drafts[:1000]
    first = islice(examples[0].extra.items(), 1000)
    names = (name for name, value in first if not isinstance(value, list | dict))
    fitting = [name for name in names if all(d.interpret(d.extra.get(name)) for d in examples)]
    if len(fitting) > 1:  # a column of zeros and ones for each choice
        cells = {name: {str(d.extra[name]).casefold() for d in examples} for name in fitting}
        fitting = [name for name in fitting if not cells[name] <= {"0", "1", "true", "false"}]
    return f", perhaps {' or '.join(map(repr, fitting))}" if fitting else ""


def _strip_labels(labels: Sequence[str]) -> tuple[str, ...]:
    """Remove punctuation and the words that labels share.

    >>> _strip_labels(["option_B", "option_A"]), _strip_labels(["(10)", "(1)"])
    (('B', 'A'), ('10', '1'))
    """
    plain = [label.strip(f"{punctuation} （）【】．、：") for label in labels]
    shared = plain[0][: _base.count_common_prefix(plain)] if plain else ""
    return tuple(label[len(shared.rstrip(digits)) :] for label in plain)


_POSITIONS = [{sign: at for at, sign in enumerate(own)}
              for own in (*SERIES, [str(number) for number in range(100)])]  # fmt: skip
"""The position of each letter or number in a series, also in that of the numbers from 0."""


@lru_cache(1000)
def _locate_labels(labels: Sequence[str]) -> tuple[int, ...]:
    """Return the labels' 0-based positions in their series, or () if they don't begin one.

    >>> _locate_labels(("A", "D", "C", "B")), _locate_labels(("A", "C")), _locate_labels(("F", "G"))
    ((0, 3, 2, 1), (0, 2), ())
    """
    signs = _strip_labels(labels)
    found = [tuple(map(own.__getitem__, signs)) for own in _POSITIONS if own.keys() >= {*signs}]
    found = [at for at in found if 0 in at and len({*at}) == len(at)]
    return min(found, key=lambda at: (max(at), at), default=())


_SCALAR = (str, int, float)


def _make_problem(draft: _Draft, kind: str | None, keys: Mapping[str, str]) -> Problem:
    if draft.reason is not None:
        raise ProblemError(draft.reason)
    answer = draft.get_correct_choice(kind)
    if fault := find_contradiction(draft.answer, draft.options, draft.labels):
        raise ProblemError(f"the answer {fault}; keep only one of them")
    if answer is None and draft.answer is not None and kind is not None:
        matches = match_choices(draft.answer, draft.options, draft.labels)
        if kind in ("text", "label") and len(matches) > 1:
            places = " and ".join(str(at + 1) for at in matches)
            message = f"the answer {draft.answer!r} matches the choices {places}"
            raise ProblemError(f"{message}; keep only one of them")
        raise ProblemError(
            f"the answer {draft.answer!r} names none of the {len(draft.options)} choices; the "
            f"file's answers are {KINDS[kind]}"
        )
    options, order = draft.options, draft.positions
    if sorted(order) == [*range(len(options))]:
        options = tuple(options[order.index(at)] for at in range(len(order)))
        answer = None if answer is None else order[answer]
    extra = {
        keys[name]: value if isinstance(value, _SCALAR) else data.format_cell([value])
        for name, value in draft.extra.items() if value is not None and value != ""
    }  # fmt: skip
    return Problem(
        draft.id, draft.question, options, answer, draft.twin_id,
        extra=Extra(extra), blank=draft.blank,
    )  # fmt: skip


def _write(problems: Sequence[Problem], file: IO[str]) -> None:
    for problem in problems:
        if problem.blank is not None:
            raise _base.make_unwritable_error(
                problem, "it has a blank, but the format stores only questions"
            )
        signs = list(ascii_uppercase[: len(problem.options)])
        record: dict[str, Any] = {
            "id": problem.id,
            "question": problem.sentence,
            "choices": {"text": list(problem.options), "label": signs},
            "answerKey": "" if problem.answer is None else signs[problem.answer],
        }
        for key, value in problem.extra.items():
            name = key.removeprefix("questions.")
            if name != key and normalise(name) not in RESERVED and not is_answer_name(name):
                record[name] = value
        file.write(dump_json(record) + "\n")


QUESTIONS = Format(
    name="questions",
    title="rows with question, choices, answer: JSON Lines, one JSON value, a table, Parquet",
    sign=_rows.has_question_columns,
    read=lambda rows: read_questions(_rows.get_question_rows(rows)[0])[0],
    writer=Writer(
        _write,
        suffix=".jsonl",
        kept_fields=frozenset({"id", "sentence", "options", "answer", "blank"}),
    ),
)
