"""SuperGLUE-WSC: is the pronoun at span 2 the candidate at span 1? Claims, not problems.

`span1_index` and `span2_index` count the pieces of `text.split(" ")`. The pronoun becomes the
blank; the claims on one blank of one text share a `problem_id`, the `idx` of the first of them.

Survived, and kept in `extra` so that a file is written as it was read: spans whose index and text
disagree (a possessive "Emma's", the "it" of the val file's idx 42, whose index names "use"); a
candidate with a line end (idx 234); the same claim twice; no label (test, FewGLUE).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import IO, Any

from winosmith.data import Rows
from winosmith.errors import ProblemError
from winosmith.formats import _base
from winosmith.formats._base import Entry, Format, Item, Writer
from winosmith.problem import BLANK, Claim, Extra, Scalar

_KEY = "superglue_wsc"


def _claim(record: Mapping[str, Any], position: int) -> Claim:
    text = _base.text_field(record, "text")
    target = record.get("target")
    if not isinstance(target, dict):
        raise ProblemError("the record has no 'target' with two spans")
    if BLANK in text:
        raise ProblemError("the text holds a blank ('_')")
    candidate, pronoun = (
        _base.text_field(target, "span1_text"),
        _base.text_field(target, "span2_text"),
    )
    at = _pronoun_at(text, pronoun, _index(target, "span2_index"))
    label = record.get("label")
    if label is not None and not isinstance(label, bool):
        raise ProblemError(f"the label must be true or false, not {label!r}")
    kept: dict[str, Scalar] = {
        "idx": record.get("idx", position),
        "span1_index": _index(target, "span1_index"),
    }
    if candidate != _base.tidy(candidate):
        kept["span1_text"] = candidate
    if target["span2_index"] != _piece(text, at):
        kept["span2_index"] = target["span2_index"]
    found = text[at : at + len(pronoun)]
    if found != pronoun:
        kept["span2_text"] = pronoun
    return Claim(
        problem_id=str(kept["idx"]),
        sentence=text[:at] + BLANK + text[at + len(pronoun) :],
        candidate=_base.tidy(candidate),
        holds=label,
        pronoun=found,
        extra=Extra({f"{_KEY}.{key}": value for key, value in kept.items()}),
    )


def _index(target: Mapping[str, Any], key: str) -> int:
    value = target.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ProblemError(f"{key!r} must be a whole number from 0, not {value!r}")
    return value


def _piece(text: str, at: int) -> int:
    """Return which piece of `text.split(" ")` the character at an offset belongs to."""
    return text.count(" ", 0, at)


def _pronoun_at(text: str, pronoun: str, piece: int) -> int:
    """Return the offset of the pronoun nearest to the piece that the file names."""
    found = _base.whole_word(pronoun, text) if pronoun.strip() else []
    if not found:
        raise ProblemError(f"the pronoun {pronoun!r} is not in the text")
    return min(found, key=lambda at: abs(_piece(text, at) - piece))


def _read(rows: Rows) -> Iterator[Entry]:
    """Yield the claims; those on the same blank of the same text get the first one's id."""
    first: dict[tuple[str, str | None], str] = {}
    for found in _base.built(_base.records(rows, ("target", "label", "idx")), _claim):
        claim = found.item
        if isinstance(claim, Claim):
            shared = first.setdefault((claim.sentence, claim.pronoun), claim.problem_id)
            found = replace(found, item=replace(claim, problem_id=shared))
        yield found


def _recognises(rows: Rows) -> bool:
    if not {"text", "target"} <= set(rows.names):
        return False
    target = rows.first.get("target")
    return isinstance(target, Mapping) or str(target).lstrip().startswith("{")


def _write(items: Sequence[Item], file: IO[str]) -> None:
    for position, item in enumerate(items):
        if not isinstance(item, Claim):
            raise _base.cannot_write(item, "the format holds true-or-false claims alone")
        file.write(json.dumps(_record(item, position)) + "\n")


def _record(claim: Claim, position: int) -> dict[str, Any]:
    before, after = claim.sentence.split(BLANK)
    pronoun = claim.pronoun
    if not pronoun:
        raise _base.cannot_write(claim, "the format needs the pronoun that the blank replaced")
    text = before + pronoun + after
    piece = _piece(text, len(before))
    kept = {key.split(".")[1]: value for key, value in claim.extra.items() if _KEY in key}
    if len(before) not in _base.whole_word(pronoun, text):
        raise _base.cannot_write(
            claim, f"the pronoun {pronoun!r} is no word of its own in the text"
        )
    record: dict[str, Any] = {
        "text": text,
        "target": {
            "span1_text": kept.get("span1_text", claim.candidate),
            "span1_index": (
                kept["span1_index"] if "span1_index" in kept else _candidate_piece(claim, text)
            ),
            "span2_text": kept.get("span2_text", pronoun),
            "span2_index": kept.get("span2_index", piece),
        },
        "idx": kept.get("idx", position),
    }
    if claim.holds is not None:
        record["label"] = claim.holds
    return record


def _candidate_piece(claim: Claim, text: str) -> int:
    """Return where the candidate stands in the text, or else its last word.

    "the suitcase" stands at the "suitcase" of "the brown suitcase".
    """
    candidate = claim.candidate.rstrip(" .,;:!?")
    for wanted in (candidate, *candidate.split()[-1:]):
        found = _base.whole_word(wanted, text)
        if found:
            return _piece(text, found[0])
    raise _base.cannot_write(claim, f"the text does not hold the candidate {claim.candidate!r}")


SUPERGLUE_WSC = Format(
    name="superglue-wsc",
    title="SuperGLUE-WSC: true-or-false claims with two spans",
    recognises=_recognises,
    needs=frozenset({"text", "target"}),
    read=_read,
    writer=Writer(
        _write,
        suffix=".jsonl",
        keeps=frozenset({"sentence", "candidate", "holds", "pronoun"}),
        holds=Claim,
    ),
)
