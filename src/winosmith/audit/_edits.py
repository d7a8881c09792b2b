"""Edit the records of items: move options, and update the keys and letters that refer to them.

The layout of a file stays the same. A record that can't be changed safely stays as it is, and an
error states the reason.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from winosmith import data, formats
from winosmith.audit._cues import detect_classes
from winosmith.data import Place, Value
from winosmith.dataset import Dataset
from winosmith.errors import DataError, InputError, ProblemError
from winosmith.formats import Contents
from winosmith.problem import Problem
from winosmith.recast import find_order_reference

_LIST = r"\(?[A-Z]\)?(?:(?:\s*,)?\s*(?:and|or|&|,)\s*\(?[A-Z]\)?)*(?![A-Za-z0-9])"
_REFERENCE = re.compile(
    rf"(?i:\b(?:options?|answers?|choices?)\s+){_LIST}|(?m:^[^\S\n]*[A-Z][.):](?=\s))"
    r"|(?:^|(?<=[,;:.] )|(?<=\bis )|(?<=\bare )|(?<=\bnot )|(?<=\band )|(?<=\bor ))\([A-Z]\)"
)
"""Letters that certainly refer to options: "option B", "answers A and C", "(B)", "B. …"."""

_RANGE = re.compile(r"[A-Z]\)?\s*(?:-|–|\bto\b)\s*\(?[A-Z](?![A-Za-z0-9])")

_EXPLANATION_FIELD = re.compile(
    "(?i)expl|rational|why|feedback|solution|reason|comment|hint|justif"
)
"""Names of fields in which letters may refer to options; letters in other fields are kept."""

_ANY_LONE = re.compile(
    r"(?<![A-Za-z0-9])(?<![A-Za-z]['’])[A-Z](?![A-Za-z0-9])|(?<!\w)(?<!\w['’])[^\W\d_](?!\w)"
)
_LONE = re.compile(r"(?<![A-Za-z0-9'’])[A-Z](?![A-Za-z0-9'’])")
_ARTICLE = re.compile(
    r"A(?= (?!(?:and|or|but|not|in|on|at|to|of|for|by|if|than|that|with|because|since|when|would"
    r"|will|can|cannot|could|should|may|might|must|had|have|were|are|did|do)\b|\w*s\b)[a-z])|I(?= )"
)
"""The article "A" (not followed by a verb, preposition or plural), or the pronoun "I"."""

_LOWERCASE_REFERENCE = re.compile(
    r"(?i:\b(?:option|choice)s?) \(?[a-k]\)?(?!\w)|(?i:\banswers?)(?: is|:)? \(?[b-k]\)?(?!\w)"
    r"|\([a-k]\)|(?:^|(?<=\s))[a-k][.)](?=\s)"
    r"|(?:^|(?<=[\s;,]))[a-hj-k](?= (?:is|are|was|would)\b)|^\s*[a-k]\s*$"
)
_ANSWER_FIELD = re.compile("(?i)pred|answer|choice|option|distract|respon|select|chosen|guess")
"""Names of fields whose small numbers refer to options."""

_MAX_DEVIATIONS = 2.5
"""Standard deviations from the expected number of matches up to which a field's numbers count as
independent of the key (our choice). By chance, 1 in 80 independent fields deviates more, and its
items then keep their order of options."""

_NUMBERS = re.compile(r"[\[(\s]*-?[\d.]+(?:\s*[,;|>\s]\s*-?[\d.]+)+[\])\s]*")
"""Several numbers, such as probabilities or ranks of the options."""

_LETTERED_OPTION = re.compile(r"\([A-K]\)|(?:^|\s)[A-K][.)]\s")
"""Lettered options within the text of a question."""

_ORDINAL = (
    r"(?:first|second|third|fourth|fifth|last|final|middle|previous|preceding|following|other"
    r"|\d(?:st|nd|rd|th)|(?:erst|zweit|dritt|viert|letzt|primer|segund|tercer|cuart|últim|premi|deuxi"
    r"|troisi|quatri|derni|prim|terz|quart|ultim|terceir|eerst|tweed|derd|vierd|laatst|перв|втор|трет"
    r"|четв|последн|أول|ثان|ثالث|رابع|ال(?:أ|ث|ر)\w)\w*)"
)
_OPTION_NOUN = (
    r"(?:options?|answers?|choices?|(?:antwort|lösung|opci|opç|alternativ|respuesta|resposta|répons"
    r"|rispost|opzion|optie|antwoord|вариант|ответ|الخيار|الإجابة)\w*)"
)
_REFERENCE_BY_POSITION = re.compile(
    rf"(?i)\b{_ORDINAL} (?:\w+ )?{_OPTION_NOUN}\b|\b{_OPTION_NOUN} {_ORDINAL}\b"
    rf"|\b{_OPTION_NOUN} (?:no\. |nr\. |#)?\d|\b{_OPTION_NOUN} (?:above|below)\b"
    r"|\b(?:option|choice)s? (?:one|two|three|four|five|I{1,3}|IV|V)\b|\b\d(?:st|nd|rd|th) one\b"
    r"|\bthe (?:(?:first|second|third|fourth|last|former|latter)(?: one)?|(?:first|last) "
    r"(?:two|three)) (?:is|are|was|isn't)\b|\bdie (?:ersten|letzten) (?:beiden|zwei|drei) sind\b"
    r"|(?:^|[\s(])#?\d[).](?=\s)|\(\d\)|#\d\b|\bindex \d"
    r"|第[一二三四五1-5](?:个|個)?(?:选|選|答|项|項)|(?:选项|選項|答案|選択肢)(?:是|は)?第?[一二三四五1-5]"
    r"|[一二三四五1-5]番目|(?:첫|두|세|네|다섯) ?번째|[1-5]번",
    re.MULTILINE,
)
"""References to options by position, such as "the second option", also in other languages."""

_OPTION_COLUMN = re.compile(r"(?:(?<=[ _.-])|(?<=[a-z])|^)[A-K1-9](?=$|[ _.-])")
"""The letter or number of an option in a column name: "feedback_A", "image1"."""

Span = tuple[int, int]


class Edit(NamedTuple):
    start: int
    end: int
    text: str


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    parts, at = [], 0
    for start, end, new in sorted(edits):
        if start < at:
            raise DataError("two records overlap in the file")
        parts += [text[at:start], new]
        at = end
    return "".join([*parts, text[at:]])


class _LocatedOptions(NamedTuple):
    """The locations of an item's options in its record.

    Attributes:
        slots: for each option, the ranges of the text that move with it.
        prefixes: prefix of each option, such as "A. "; "" if the option has none.
        labels: labels of the options, such as column names; empty if there are none.
        states_answer: whether the options themselves state which of them is correct.
        whole: range of the list or object that contains only the options; None if they are columns.
    """

    slots: list[list[Span]]
    prefixes: list[str]
    labels: tuple[str, ...] = ()
    states_answer: bool = False
    whole: Span | None = None


class _LocatedItem(NamedTuple):
    problem: Problem
    record: Value
    located: _LocatedOptions
    file_text: str


def plan_edits(
    contents: Contents,
    sources: Mapping[str, data.Source],
    columns: formats.Columns | None,
    draw_order: Callable[[Problem], Sequence[int]],
    unchanged: dict[Place, str],
) -> tuple[defaultdict[str, list[Edit]], dict[str, str]]:
    """Return the edits by path, and the kinds of keys by field name.

    Each item that can't be changed is added to `unchanged`, with the reason.
    """
    readers: dict[str, Callable[[Place], Value]] = {}
    problems = Dataset(contents.problems)
    classes = detect_classes(problems)
    times = Counter(contents.places)
    found: dict[Place, _LocatedItem] = {}
    for place, problem, is_class in zip(contents.places, problems, classes, strict=True):
        if place in unchanged:
            continue
        try:
            named = _REFERENCE.search(problem.sentence) or _LETTERED_OPTION.search(problem.sentence)
            reference = find_order_reference(problem.sentence, problem.options)
            if is_class or named or reference:
                why = "the order of its options matters"
                if reference in problem.options:
                    why += f": {reference!r} refers to other options"
                raise ProblemError(why)
            if times[place] > 1:
                raise ProblemError("its record contains several items")
            if place.start is None:
                raise ProblemError("its location in the file is not known")
            if place.path not in readers:
                readers[place.path] = _make_record_reader(sources[place.path])
            record, text = readers[place.path](place), sources[place.path].text
            found[place] = _LocatedItem(problem, record, _find_options(record, problem, text), text)
        except InputError as error:
            unchanged[place] = str(error)
    kinds = _find_keys(found.values(), columns)
    numbered = find_numbered_fields(
        (name, value.value, item.problem)
        for item in found.values()
        for name, value in _iter_other_values(item.record, item.located)
        if name not in kinds and not formats.is_answer_name(name)
    )
    edits: defaultdict[str, list[Edit]] = defaultdict(list)
    for place, item in found.items():
        try:
            if item.problem.answer is None:
                raise ProblemError("it has no answer; its key may be in another field or file")
            if not kinds and not item.located.states_answer:
                raise ProblemError("its answer column was not found")
            order = draw_order(item.problem)
            if moves := [*_iter_option_edits(item.located, order, item.file_text)]:
                moves += _iter_key_edits(item, order, kinds)
                moves += _iter_letter_edits(item, order, kinds, numbered)
                edits[place.path] += moves
        except InputError as error:
            unchanged[place] = str(error)
    return edits, kinds


def _make_record_reader(source: data.Source) -> Callable[[Place], Value]:
    if data.is_yaml(source):
        records = {one.start: one for one in data.parse_yaml_records(source)}
        return lambda place: records[place.start or 0]
    if data.read(source).kind == "delimited":
        table = data.Delimited(source)
        return lambda place: data.parse_row(source.text, place.start or 0, place.end or 0, table)
    return lambda place: data.parse_json_value(source.text, source.text.index("{", place.start))


def _find_options(record: Value, problem: Problem, text: str) -> _LocatedOptions:
    options, found = problem.options, list[_LocatedOptions]()
    texts = {*map(formats.tidy, options)}
    for value in record.iterate_values():
        if isinstance(value.value, list) and len(value.members) == len(options):
            elements = [*value.members.values()]
            found += _match_list(elements, options, text, (value.start, value.end))
        elif isinstance(value.value, dict):
            held = {
                str(name): one
                for name, one in value.members.items()
                if not formats.is_answer_name(str(name)) and formats.tidy(str(one.value)) in texts
            }
            if spans := _find_option_spans([*held.values()], options, text):
                whole = (value.start, value.end) if len(held) == len(value.members) else None
                slots = [[span] for span in spans[0]]
                found.append(_LocatedOptions(slots, spans[1], tuple(held), whole=whole))
    if len(found) != 1:
        how = "found more than once" if found else "not found as a list or as columns"
        raise ProblemError(f"its options are {how}")
    return found[0]


def _match_list(
    elements: Sequence[Value], options: Sequence[str], text: str, list_span: Span
) -> Iterator[_LocatedOptions]:
    if spans := _find_option_spans(elements, options, text):
        yield _LocatedOptions([[span] for span in spans[0]], spans[1], whole=list_span)
    if not elements[0].members or any([*one.members] != [*elements[0].members] for one in elements):
        return
    columns = {name: [one.members[name] for one in elements] for name in elements[0].members}
    if not any(_find_option_spans(values, options, text) for values in columns.values()):
        return
    labels = next((each for each in columns.values() if _is_label_series(each)), [])
    moving = [each for each in columns.values() if not _is_label_series(each)]
    flags = ([one.value for one in each] for each in moving)
    yield _LocatedOptions(
        [[(one.start, one.end) for one in own] for own in zip(*moving, strict=True)],
        [""] * len(options),
        tuple(str(one.value) for one in labels),
        states_answer=any(all(isinstance(f, bool) for f in own) and sum(own) == 1 for own in flags),
        whole=list_span,
    )


def _find_option_spans(
    values: Sequence[Value], options: Sequence[str], text: str
) -> tuple[list[Span], list[str]] | None:
    """Return the range and the prefix ("A. ") of each option, or None if values are not options."""
    if len(values) != len(options) or any(
        one.members or isinstance(one.value, bool | None) for one in values
    ):
        return None
    tidy = [*map(formats.tidy, options)]
    if [formats.tidy(str(one.value)) for one in values] == tidy:
        return [(one.start, one.end) for one in values], [""] * len(options)
    spans, prefixes = [], []
    for one, option in zip(values, tidy, strict=True):
        quote = text.startswith('"', one.start)
        prefix = formats.PREFIX.match(str(one.value))
        if not prefix or not text.startswith(prefix[0], one.start + quote):
            return None
        if formats.tidy(str(one.value)[prefix.end() :]) != option:
            return None
        spans.append((one.start + quote + prefix.end(), one.end - quote))
        prefixes.append(prefix[0])
    return spans, prefixes


def _is_label_series(values: Sequence[Value]) -> bool:
    """Return whether values label the options in sequence: A, B, C or 0, 1, 2 or 1, 2, 3."""
    count = range(len(values))
    if formats.locate_letters(one.value for one in values) == [*count]:
        return True
    return [str(one.value) for one in values] in ([*map(str, count)], [str(n + 1) for n in count])


def _iter_option_edits(located: _LocatedOptions, order: Sequence[int], text: str) -> Iterator[Edit]:
    if any("\n" in text[start:end] for slot in located.slots for start, end in slot):
        raise ProblemError("its options span several lines")
    for slot, old in zip(located.slots, order, strict=True):
        for (start, end), (first, last) in zip(slot, located.slots[old], strict=True):
            if start != first:
                yield Edit(start, end, text[first:last])


def _find_keys(items: Iterable[_LocatedItem], columns: formats.Columns | None) -> dict[str, str]:
    """Map each field that contains the key of every item to the kind of key."""
    fits: dict[str, set[str]] = {}
    for problem, record, located, _ in items:
        for name, value in _iter_other_values(record, located):
            is_named = formats.is_answer_name(name) or (columns and name == columns.answer)
            if problem.answer is None or not is_named:
                continue
            read = _interpret_key(value, problem, located)
            if read or value.value not in (None, ""):
                kinds = {kind for kind, at in read.items() if at == problem.answer}
                fits[name] = fits.get(name, kinds) & kinds
    return {name: min(kinds, key=_KEY_KINDS.index) for name, kinds in fits.items() if kinds}


_KEY_KINDS = ("label", "text", *formats.LETTER_KINDS, "0", "1")
"""Kinds of keys; if several kinds fit all items, the first is used."""


def _iter_other_values(record: Value, located: _LocatedOptions) -> Iterator[tuple[str, Value]]:
    taken = [located.whole] if located.whole else [span for slot in located.slots for span in slot]
    for name, value in record.iterate_leaves():
        if not any(start < value.end and value.start < end for start, end in taken):
            yield str(name), value


def _interpret_key(value: Value, problem: Problem, located: _LocatedOptions) -> dict[str, int]:
    prefixed = [
        p + option for p, option in zip(located.prefixes, problem.options, strict=True) if p
    ]
    return formats.interpret_answer(value.value, problem.options, located.labels, prefixed)


def _iter_key_edits(
    item: _LocatedItem, order: Sequence[int], kinds: Mapping[str, str]
) -> Iterator[Edit]:
    problem, record, located, text = item
    old = problem.answer or 0
    new = order.index(old)
    for name, value in _iter_other_values(record, located):
        kind = kinds.get(name)
        if value.value in (None, ""):
            continue
        is_named = formats.is_answer_name(name) and not isinstance(value.value, bool)
        if kind is None and is_named and _interpret_key(value, problem, located).keys() - {"text"}:
            raise ProblemError(f"its {name!r} may contain the key")
        if kind is None or new == old:
            continue
        raw = text[value.start : value.end]
        if kind == "text":
            prefix = formats.PREFIX.match(str(value.value))
            if prefix and formats.tidy(str(value.value)) != formats.tidy(problem.options[old]):
                at = value.start + text.startswith(('"', "'"), value.start)
                if not text.startswith(prefix[0], at):
                    raise ProblemError(f"its {name!r} can't be changed")
                if prefix[0].strip() == located.prefixes[old].strip():
                    new_prefix = located.prefixes[new]
                else:
                    new_prefix = _replace_letter(prefix[0], old, new)
                yield Edit(at, at + len(prefix[0]), new_prefix)
        elif kind == "label":
            if raw.count(located.labels[old]) != 1:
                raise ProblemError(f"its {name!r} can't be changed")
            yield Edit(
                value.start, value.end, raw.replace(located.labels[old], located.labels[new])
            )
        elif kind in ("0", "1"):
            yield Edit(value.start, value.end, re.sub(r"\d+", str(new + int(kind)), raw, count=1))
        elif kind in formats.LETTER_KINDS:
            yield Edit(value.start, value.end, _replace_letter(raw, old, new, [kind]))


def _replace_letter(
    raw: str, old: int, new: int, kinds: Iterable[str] = formats.LETTER_KINDS
) -> str:
    found = {_replace_in_series(raw, old, new, formats.SERIES_BY_KIND[kind]) for kind in kinds}
    found.discard(None)
    if len(found) != 1:
        raise ProblemError(f"the letter of its key {raw} can't be replaced")
    return str(found.pop())


def _replace_in_series(
    raw: str, old: int, new: int, several: Iterable[Sequence[str]]
) -> str | None:
    for series in several:
        if len(series) <= max(old, new):
            continue
        for letter, other in ((series[old], series[new]), (ascii(series[old]), ascii(series[new]))):
            if raw.count(letter.strip("'")) == 1:  # "أ", or escaped as in JSON: "\\u0623"
                return raw.replace(letter.strip("'"), other.strip("'"))
    return None


def _has_value_per_option(value: Value, problem: Problem, located: _LocatedOptions) -> bool:
    spans = [span for slot in located.slots for span in slot]
    if any(value.start <= start and end <= value.end for start, end in spans):
        return False
    if any(start <= value.start and value.end <= end for start, end in spans):
        return False
    names = [str(name) for name in value.members]
    if isinstance(value.value, dict):
        is_label = [formats.parse_letter(name) is not None or name.isdecimal() for name in names]
        return bool(names) and (
            all(is_label) or {*names} <= {*located.labels} or {*names} <= {*problem.options}
        )
    count = len(problem.options)
    return isinstance(value.value, list) and len(names) in (count, count - 1) and len(names) > 1


def _iter_letter_edits(
    item: _LocatedItem, order: Sequence[int], kinds: Mapping[str, str], numbered: Container[str]
) -> Iterator[Edit]:
    """Yield edits of the letters that refer to options in other fields, such as explanations."""
    problem, record, located, text = item
    if any(_has_value_per_option(value, problem, located) for value in record.iterate_values()):
        raise ProblemError("another field has one value per option")
    for value in record.iterate_values():
        names = [str(name) for name in value.members if str(name) not in located.labels]
        columns = {found[0] for name in names if (found := _OPTION_COLUMN.search(name))}
        if isinstance(value.value, dict) and len(columns) > 1:
            raise ProblemError("several columns have one value per option")
    options = {*map(formats.tidy, problem.options)}
    spans = {span for slot in located.slots for span in slot}
    for name, value in record.iterate_leaves():
        if (value.start, value.end) not in spans or not isinstance(value.value, str):
            continue
        named = _REFERENCE.search(value.value) or _describe_reference(value.value, len(order))
        if named and formats.tidy(value.value) not in options:
            raise ProblemError(f"the {name!r} of an option may refer to another option")
    for name, value in _iter_other_values(record, located):
        if name in numbered and value.value not in (None, ""):
            raise ProblemError(f"its {name!r} may refer to an option by a number")
        if name in kinds or not isinstance(value.value, str):
            continue
        if _repeats_question(value.value, problem):
            continue
        explains = _EXPLANATION_FIELD.search(name) and not _RANGE.search(value.value)
        changed = {
            at
            for found in _REFERENCE.finditer(value.value)
            for at in range(*found.span())
            if explains and _LONE.match(value.value, at)
        }
        if reference := _describe_reference(value.value, len(order), changed):
            raise ProblemError(f"its {name!r} {reference}")
        places = value.locate_characters(text) if changed else []
        for at in sorted(changed):
            old = ord(value.value[at]) - ord("A")
            if old < len(order):
                yield Edit(*places[at], chr(ord("A") + order.index(old)))


def find_numbered_fields(values: Iterable[tuple[str, Any, Problem]]) -> set[str]:
    """Return the fields whose numbers may refer to options, from the values of all items.

    Such numbers are positions from 0 or 1. Either the field is named like an answer, or its numbers
    equal the position of the key much more or less often than independent numbers.
    """
    fields: defaultdict[str, list[tuple[str, Problem]]] = defaultdict(list)
    for name, value, problem in values:
        if value not in (None, "") and problem.answer is not None:
            fields[name].append((data.parse_whole_number(str(value).strip()), problem))
    found = set[str]()
    for name, rows in fields.items():
        for first in (0, 1):
            pairs = [
                (int(whole) - first, problem.answer)
                for whole, problem in rows
                if whole.isdecimal() and 0 <= int(whole) - first < len(problem.options)
            ]
            given, keys = (Counter(pair[at] for pair in pairs) for at in (0, 1))
            if len(given) < 2 or len(pairs) < 0.9 * len(rows):
                continue
            expected = sum(given[at] * keys[at] for at in given) / len(pairs)
            equal = sum(one == key for one, key in pairs)
            deviation = math.sqrt(expected * (1 - expected / len(pairs)))
            if _ANSWER_FIELD.search(name) or abs(equal - expected) > _MAX_DEVIATIONS * deviation:
                found.add(name)
    return found


def may_refer_to_options(problem: Problem, numbered: Container[str]) -> bool:
    """Return whether a field of `extra` may refer to options, by a text or a number."""
    return any(
        name in numbered
        or (
            isinstance(value, str)
            and not _repeats_question(value, problem)
            and _describe_reference(value, len(problem.options))
        )
        for name, value in problem.extra.items()
        if value not in (None, "")
    )


def _repeats_question(text: str, problem: Problem) -> bool:
    return len(text.split()) > 1 and text.strip() in problem.sentence


def _describe_reference(text: str, count: int, known: Container[int] = ()) -> str | None:
    """Return how a text may refer to `count` options, ignoring letters at `known` offsets."""
    for lone in _ANY_LONE.finditer(text):
        letter = formats.parse_letter(lone[0])
        positions = letter.positions.values() if letter else ()
        is_option = any(one < count for one in positions) and not lone[0].islower()
        if is_option and lone.start() not in known and not _ARTICLE.match(text, lone.start()):
            return f"may refer to an option by {lone[0]!r}"
    if small := _LOWERCASE_REFERENCE.search(text):
        return f"may refer to an option by {small[0]!r}"
    if _REFERENCE_BY_POSITION.search(text):
        return "may refer to an option by its position"
    if _NUMBERS.fullmatch(text) and len(re.findall(r"[\d.]+", text)) in (count, count - 1):
        return "may have one value per option"
    return None
