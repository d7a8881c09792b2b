"""SuperGLUE-WSC: is the pronoun at span 2 the candidate at span 1? Claims, not problems.

In SuperGLUE, `span1_index` and `span2_index` count the pieces of `text.split(" ")`; in CLUEWSC,
whose Chinese has no spaces, they count characters. A file has one of the two kinds: the one that
fits more of its spans. The pronoun becomes the blank; the claims on one blank of one text share a
`problem_id`, the `idx` of the first of them. The spans are in `target`, or in columns of the row
itself, as in Hugging Face's `super_glue`, whose labels are 1 (true), 0 and -1 (no label).

Survived, and kept in `extra` so that a file is written as it was read: a pronoun that the text has
once, though not at its index (the "it" of the val file's idx 42, whose index names "use"); a
candidate with a line end (idx 234); the same claim twice; no label (test, FewGLUE).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import IO, Any, Literal

from winosmith.errors import ProblemError
from winosmith.formats import _base
from winosmith.formats._base import Entry, Format, Item, Source, Writer
from winosmith.problem import BLANK, Claim, Extra, Scalar
from winosmith.text import occurrences

_KEY = "superglue_wsc"

_SPANS = frozenset({"span1_text", "span1_index", "span2_text", "span2_index"})

Unit = Literal["word", "character"]
"""What an index counts: the pieces of `text.split(" ")`, or characters."""

Record = Mapping[str, Any]


def _claim(record: Record, position: int, unit: Unit | None) -> Claim:
    text, target = _base.text_field(record, "text"), _target(record)
    if BLANK in text:
        raise ProblemError("the text holds a blank ('_')")
    candidate, pronoun = (
        _base.text_field(target, "span1_text"),
        _base.text_field(target, "span2_text"),
    )
    index = _index(target, "span2_index")
    at = _pronoun_at(text, pronoun, index, unit)
    kept: dict[str, Scalar] = {
        "idx": record.get("idx", position),
        "span1_index": _index(target, "span1_index"),
    }
    if unit == "character":
        kept["unit"] = unit
    if candidate != _base.tidy(candidate):
        kept["span1_text"] = candidate
    if at not in _pointed(text, pronoun, index, unit):
        kept["span2_index"] = index
    found = text[at : at + len(pronoun)]
    if found != pronoun:
        kept["span2_text"] = pronoun
    return Claim(
        problem_id=str(kept["idx"]),
        sentence=text[:at] + BLANK + text[at + len(pronoun) :],
        candidate=_base.tidy(candidate),
        holds=_label(record),
        pronoun=found,
        extra=Extra({f"{_KEY}.{key}": value for key, value in kept.items()}),
    )


def _target(record: Record) -> Record:
    target = record.get("target", record)
    if not isinstance(target, Mapping) or not target.keys() >= _SPANS:
        raise ProblemError("the record has no 'target' with two spans")
    return target


def _index(target: Record, key: str) -> int:
    value = target[key]
    if isinstance(value, bool) or not str(value).removesuffix(".0").isdecimal():
        raise ProblemError(f"{key!r} must be a whole number from 0, not {value!r}")
    return int(value)


_LABELS = {"true": True, "false": False, "": None, "none": None}
_FLAT_LABELS = {"1": True, "0": False, "-1": None}


def _label(record: Record) -> bool | None:
    """Return whether the claim holds; None if the label is withheld.

    Numbers are labels only without `target`: CLUE, which has it, numbers true as 0.
    """
    label = record.get("label")
    known = _LABELS if "target" in record else _LABELS | _FLAT_LABELS
    said = str(label).strip().casefold().removesuffix(".0")
    if said not in known:
        raise ProblemError(f"the label must be true or false, not {label!r}")
    return known[said]


def _places(text: str, span: str, index: int) -> dict[Unit, int]:
    """Return the offset to which an index of a span points, by each unit in which it does."""
    at_all, whole = occurrences(span, text, attached=True), occurrences(span, text)
    places: dict[Unit, int] = {}
    for found in (at_all, whole):
        in_piece = [at for at in found if _piece(text, at) == index]
        if len(in_piece) == 1:
            places["word"] = in_piece[0]
    if index in at_all:
        places["character"] = index
    return places


def _pointed(text: str, span: str, index: int, unit: Unit | None) -> set[int]:
    """Return the offset to which an index points by the unit of the file; None tries both."""
    return {at for of, at in _places(text, span, index).items() if unit in (of, None)}


def _piece(text: str, at: int) -> int:
    """Return the index of the piece of `text.split(" ")` that has the character at an offset."""
    return text.count(" ", 0, at)


def _pronoun_at(text: str, pronoun: str, index: int, unit: Unit | None) -> int:
    """Return the offset of the pronoun to which the index points, or of its only occurrence.

    Args:
        text: the text.
        pronoun: the pronoun.
        index: the place that the file gives.
        unit: what indices of the file count; None if both units fit as many spans.
    """
    pointed = _pointed(text, pronoun, index, unit)
    if len(pointed) == 1:
        return pointed.pop()
    if pointed:
        raise ProblemError(
            f"'span2_index' is {index}, and {pronoun!r} is there both by words and by characters"
        )
    found = occurrences(pronoun, text)
    if not found:
        raise ProblemError(f"the pronoun {pronoun!r} is not in the text")
    if len(found) > 1:
        raise ProblemError(
            f"'span2_index' is {index}, {_there(text, index, len(pronoun), unit)}; the text has "
            f"the pronoun {pronoun!r} {len(found)} times, and which one is meant is not known"
        )
    return found[0]


def _there(text: str, index: int, length: int, unit: Unit | None) -> str:
    """Return what the text has at an index, as part of a sentence."""
    pieces = text.split(" ")
    has = text[index : index + length] if unit == "character" else "".join(pieces[index:][:1])
    return f"where the text has {has!r}" if has else "behind the end of the text"


def _unit(records: Iterable[Record]) -> Unit | None:
    """Return what the indices of a file count: what fits more spans; None if both fit as many."""
    fits: Counter[Unit] = Counter()
    for record in records:
        target = record.get("target", record)
        for span in ("span1", "span2"):
            try:
                text, said = record["text"], target[f"{span}_text"]
                fits.update([*_places(text, said, _index(target, f"{span}_index"))])
            except (ProblemError, KeyError, TypeError, AttributeError):
                continue  # a record that can't be read
    first, second = fits["word"], fits["character"]
    return None if first == second else "word" if first > second else "character"


def _read(source: Source) -> Iterator[Entry]:
    """Yield the claims; those on the same blank of the same text get the first one's id."""
    first: dict[tuple[str, str | None], str] = {}
    records = list(_base.line_records(source))
    unit = _unit(record for _, _, record, _ in records if record is not None)
    for found in _base.built(records, lambda record, at: _claim(record, at, unit)):
        claim = found.item
        if isinstance(claim, Claim):
            shared = first.setdefault((claim.sentence, claim.pronoun), claim.problem_id)
            found = replace(found, item=replace(claim, problem_id=shared), note=_note(claim, unit))
        yield found


def _note(claim: Claim, unit: Unit | None) -> str | None:
    """Return that the index of a claim's pronoun points to something else, or None."""
    index, pronoun = claim.extra.get(f"{_KEY}.span2_index"), claim.pronoun or ""
    if not isinstance(index, int):
        return None
    there = _there(claim.sentence.replace(BLANK, pronoun), index, len(pronoun), unit)
    return f"'span2_index' is {index}, {there}; {pronoun!r} is read at its only place"


def _write(items: Sequence[Item], file: IO[str]) -> None:
    """Write claims, with indices of words if these place each pronoun, otherwise of characters."""
    claims = [item for item in items if isinstance(item, Claim)]
    if len(claims) < len(items):
        item = next(item for item in items if not isinstance(item, Claim))
        raise _base.cannot_write(item, "the format has only true-or-false claims")
    unit: Unit = "word" if all(map(_fits_words, claims)) else "character"
    records = [_record(claim, position, unit) for position, claim in enumerate(claims)]
    read = _unit(records)
    for claim, record in zip(claims, records, strict=True):
        try:
            _claim(record, 0, read)
        except ProblemError as error:
            raise _base.cannot_write(claim, str(error)) from None
    file.writelines(json.dumps(record) + "\n" for record in records)


def _fits_words(claim: Claim) -> bool:
    before, after = claim.sentence.split(BLANK)
    pronoun = claim.pronoun or ""
    places = _places(before + pronoun + after, pronoun, _piece(before, len(before)))
    return places.get("word") == len(before) and f"{_KEY}.unit" not in claim.extra


def _record(claim: Claim, position: int, unit: Unit) -> dict[str, Any]:
    before, after = claim.sentence.split(BLANK)
    pronoun = claim.pronoun
    if not pronoun:
        raise _base.cannot_write(claim, "the format needs the pronoun that the blank replaced")
    text = before + pronoun + after
    if len(before) not in occurrences(pronoun, text, attached=True):
        raise _base.cannot_write(
            claim, f"the pronoun {pronoun!r} is no word of its own in the text"
        )
    kept = {key.split(".")[1]: value for key, value in claim.extra.items() if _KEY in key}
    if kept.get("unit", "word") != unit:
        kept = {key: value for key, value in kept.items() if not key.endswith("_index")}
    if "span1_index" not in kept:
        kept["span1_index"] = _counted(text, _candidate_at(claim, text), unit)
    record: dict[str, Any] = {
        "text": text,
        "target": {
            "span1_text": kept.get("span1_text", claim.candidate),
            "span1_index": kept["span1_index"],
            "span2_text": kept.get("span2_text", pronoun),
            "span2_index": kept.get("span2_index", _counted(text, len(before), unit)),
        },
        "idx": kept.get("idx", position),
    }
    if claim.holds is not None:
        record["label"] = claim.holds
    return record


def _counted(text: str, at: int, unit: Unit) -> int:
    return at if unit == "character" else _piece(text, at)


def _candidate_at(claim: Claim, text: str) -> int:
    """Return the offset of the candidate in the text, or else of its last word.

    "the suitcase" is at the "suitcase" of "the brown suitcase".
    """
    candidate = claim.candidate.rstrip(" .,;:!?")
    for wanted in (candidate, *candidate.split()[-1:]):
        found = occurrences(wanted, text)
        if found:
            return found[0]
    raise _base.cannot_write(claim, f"the text does not hold the candidate {claim.candidate!r}")


SUPERGLUE_WSC = Format(
    name="superglue-wsc",
    title="SuperGLUE-WSC and CLUEWSC: true-or-false claims with two spans",
    recognises=lambda source: (
        {"text", "target"} <= source.first_record.keys()
        or {"text"} | _SPANS <= source.first_record.keys()
    ),
    needs=frozenset({"text", "target"}),
    read=_read,
    writer=Writer(
        _write,
        suffix=".jsonl",
        keeps=frozenset({"sentence", "candidate", "holds", "pronoun"}),
        holds=Claim,
    ),
)
