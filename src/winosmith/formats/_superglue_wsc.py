"""SuperGLUE-WSC: claims that the pronoun at span 2 refers to the candidate at span 1.

In SuperGLUE, `span1_index` and `span2_index` count the pieces of `text.split(" ")`; in CLUEWSC,
whose Chinese texts have no spaces, they count characters. The unit that fits more of a file's spans
is used. The pronoun becomes the blank. Claims about the same blank of the same text share a
`problem_id`, which is the `idx` of the first claim. The spans are in `target`, or in columns of the
row, as in Hugging Face's `super_glue`, whose labels are 1 (true), 0 (false) and -1 (no label).

Some irregular claims are accepted, with facts in `extra` so that they can be written unchanged: a
pronoun that occurs once in the text but not at its index ("it" in idx 42 of the val file, whose
index points to "use"); a candidate with a newline (idx 234); repeated claims; missing labels (test,
FewGLUE). Written files have no `problem_id`. Claims whose candidate is not in the text fail.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import IO, Any, Literal

from winosmith.data import Record, Rows, parse_whole_number
from winosmith.errors import ProblemError
from winosmith.formats import _base
from winosmith.formats._base import Entry, Format, Writer
from winosmith.problem import BLANK, Claim, Extra, Scalar
from winosmith.text import detect_script, find_occurrences

_KEY = "superglue_wsc"

_SPANS = frozenset({"span1_text", "span1_index", "span2_text", "span2_index"})

Unit = Literal["word", "character"]
"""Index units: the words in `text.split(" ")`, or characters."""

_UNITS: tuple[Unit, ...] = ("word", "character")


def _parse_claim(record: Record, position: int, units: Sequence[Unit]) -> Claim:
    text, target = _base.get_text_field(record, "text"), record.get("target", record)
    if not isinstance(target, Mapping) or not target.keys() >= _SPANS:
        raise ProblemError("the record has no 'target' with two spans")
    if BLANK in text:
        raise ProblemError("the text contains a blank ('_')")
    candidate, pronoun = (_base.get_text_field(target, f"span{n}_text") for n in (1, 2))
    index = _parse_index(target, "span2_index")
    at = _locate_pronoun(text, pronoun, index, units)
    facts: dict[str, Scalar] = {
        "idx": record.get("idx", position),
        "span1_index": _parse_index(target, "span1_index"),
    }
    if "word" not in units:
        facts["unit"] = "character"
    if candidate != _base.tidy(candidate):
        facts["span1_text"] = candidate
    if index not in {_get_index(text, at, unit) for unit in units}:
        facts["span2_index"] = index
    found = text[at : at + len(pronoun)]
    if found != pronoun:
        facts["span2_text"] = pronoun
    return Claim(
        problem_id=str(facts["idx"]),
        sentence=text[:at] + BLANK + text[at + len(pronoun) :],
        candidate=_base.tidy(candidate),
        holds=_parse_label(record),
        pronoun=found,
        extra=Extra({f"{_KEY}.{key}": value for key, value in facts.items()}),
    )


def _parse_index(target: Record, key: str) -> int:
    number = parse_whole_number(str(target[key]))
    if not number.isdecimal():
        raise ProblemError(f"{key!r} must be a whole number from 0, not {target[key]!r}")
    return int(number)


def _parse_label(record: Record) -> bool | None:
    """Return whether the claim is true, or None if the label is withheld.

    Numbers are accepted only in records without `target`, because CLUE's records, which have a
    `target`, use 0 for true.
    """
    label = record.get("label")
    known = {"true": True, "false": False, "": None, "none": None}
    if "target" not in record:
        known |= {"1": True, "0": False, "-1": None}
    text = str(label).strip().casefold()
    text = parse_whole_number(text) or text
    if text not in known:
        raise ProblemError(f"the label must be true or false, not {label!r}")
    return known[text]


def _get_index(text: str, offset: int, unit: Unit) -> int:
    return offset if unit == "character" else text.count(" ", 0, offset)


def _find_span(text: str, span: str, index: int, unit: Unit) -> int | None:
    """Return the offset of the span at an index, or None if the text there differs."""
    offsets = find_occurrences(span, text, attached=True)
    matches = [at for at in offsets if _get_index(text, at, unit) == index]
    return matches[0] if len(matches) == 1 else None


def _locate_pronoun(text: str, pronoun: str, index: int, units: Sequence[Unit]) -> int:
    """Return the pronoun's offset at the stated index, or else that of its only occurrence."""
    pointed = {_find_span(text, pronoun, index, unit) for unit in units} - {None}
    found = [at for at in pointed if at is not None] or find_occurrences(pronoun, text)
    if len(found) == 1:
        return found[0]
    if not found:
        raise ProblemError(f"the pronoun {pronoun!r} is not in the text")
    problem = f"which fits {pronoun!r} both as a word index and as a character index"
    if not pointed:
        problem = (
            f"{_describe_text_at(text, index, pronoun, units)}; the pronoun {pronoun!r} "
            f"occurs {len(found)} times, and it is unclear which occurrence is meant"
        )
    raise ProblemError(f"'span2_index' is {index}, {problem}")


def _describe_text_at(text: str, index: int, pronoun: str, units: Sequence[Unit]) -> str:
    shown = "".join(text.split(" ")[index:][:1]) if "word" in units else ""
    shown = shown or (text[index : index + len(pronoun)] if "character" in units else "")
    return f"where the text has {shown!r}" if shown else "after the end of the text"


def _detect_units(records: Iterable[Record]) -> Sequence[Unit]:
    """Return the index unit that fits more of a file's spans, or both units if tied."""
    fits = Counter(dict.fromkeys(_UNITS, 0))
    for record in records:
        target = record.get("target", record)
        for span in ("span1", "span2"):
            try:
                text, wanted = record["text"], target[f"{span}_text"]
                index = _parse_index(target, f"{span}_index")
                fits.update(u for u in _UNITS if _find_span(text, wanted, index, u) is not None)
            except (ProblemError, KeyError, TypeError, AttributeError):
                continue  # a record that can't be read
    return [unit for unit in _UNITS if fits[unit] == max(fits.values())]


def _read(rows: Rows) -> Iterator[Entry]:
    first: dict[tuple[str, str | None], str] = {}
    records = list(_base.read_records(rows, ("target", "label", "idx")))
    units = _detect_units(row.values for row in records if row.values is not None)
    for entry in _base.build_entries(records, lambda record, at: _parse_claim(record, at, units)):
        claim = entry.item
        if isinstance(claim, Claim):
            shared = first.setdefault((claim.sentence, claim.pronoun), claim.problem_id)
            note = _describe_wrong_index(claim, units)
            entry = replace(entry, item=replace(claim, problem_id=shared), note=note)
        yield entry


def _describe_wrong_index(claim: Claim, units: Sequence[Unit]) -> str | None:
    index, pronoun = claim.extra.get(f"{_KEY}.span2_index"), claim.pronoun or ""
    if not isinstance(index, int):
        return None
    location = _describe_text_at(claim.sentence.replace(BLANK, pronoun), index, pronoun, units)
    return f"'span2_index' is {index}, {location}; the only occurrence of {pronoun!r} is used"


def _is_superglue(rows: Rows) -> bool:
    names = set(rows.names)
    if not {"text", "target"} <= names:
        return {"text"} | _SPANS <= names
    target = rows.first.get("target")
    return isinstance(target, Mapping) or str(target).lstrip().startswith("{")


def _write(claims: Sequence[Claim], file: IO[str]) -> None:
    """Write claims with word indices if they identify each pronoun, otherwise character indices."""
    unit: Unit = "word" if all(map(_has_unique_word_index, claims)) else "character"
    records = [_make_record(claim, position, unit) for position, claim in enumerate(claims)]
    units = _detect_units(records)
    for claim, record in zip(claims, records, strict=True):
        try:
            _parse_claim(record, 0, units)
        except ProblemError as error:
            raise _base.make_unwritable_error(claim, str(error)) from None
    file.writelines(json.dumps(record) + "\n" for record in records)


def _restore_text(claim: Claim) -> tuple[str, int, str]:
    before, after = claim.sentence.split(BLANK)
    if not claim.pronoun:
        raise _base.make_unwritable_error(
            claim, "the format needs the pronoun that the blank replaced"
        )
    return before + claim.pronoun + after, len(before), claim.pronoun


def _has_unique_word_index(claim: Claim) -> bool:
    text, at, pronoun = _restore_text(claim)
    if f"{_KEY}.unit" in claim.extra or detect_script(text) == "unspaced":
        return False
    return _find_span(text, pronoun, _get_index(text, at, "word"), "word") == at


def _make_record(claim: Claim, position: int, unit: Unit) -> dict[str, Any]:
    text, at, pronoun = _restore_text(claim)
    if at not in find_occurrences(pronoun, text, attached=True):
        raise _base.make_unwritable_error(
            claim, f"the pronoun {pronoun!r} is not a separate word in the text"
        )
    facts = {key.split(".", 1)[1]: value for key, value in claim.extra.items() if _KEY in key}
    if facts.get("unit", "word") != unit:
        facts = {key: value for key, value in facts.items() if not key.endswith("_index")}
    if "span1_index" not in facts:
        candidate = claim.candidate.rstrip(" .,;:!?")
        spans = (candidate, *candidate.split()[-1:])
        if not (offsets := [at for span in spans for at in find_occurrences(span, text)]):
            raise _base.make_unwritable_error(
                claim, f"the text does not contain the candidate {claim.candidate!r}"
            )
        facts["span1_index"] = _get_index(text, offsets[0], unit)
    record: dict[str, Any] = {
        "text": text,
        "target": {
            "span1_text": facts.get("span1_text", claim.candidate),
            "span1_index": facts["span1_index"],
            "span2_text": facts.get("span2_text", pronoun),
            "span2_index": facts.get("span2_index", _get_index(text, at, unit)),
        },
        "idx": facts.get("idx", position),
    }
    if claim.holds is not None:
        record["label"] = claim.holds
    return record


SUPERGLUE_WSC = Format(
    name="superglue-wsc",
    title="SuperGLUE-WSC and CLUEWSC: true-or-false claims with two spans",
    read=_read,
    needs=frozenset({"text", "target"}),
    sign=_is_superglue,
    writer=Writer(
        _write,
        suffix=".jsonl",
        kept_fields=frozenset({"sentence", "candidate", "holds", "pronoun"}),
        item_types=Claim,
    ),
)
