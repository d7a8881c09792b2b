"""Read and write scores for both presentations of each item, made without the coins.

A score file has a header with the release and the model, and a line for each item:

    {"release": "5f0c…", "model": "gpt2"}
    {"id": "a1", "a": -41.7, "b": -42.3}

`a` and `b` are the log-probabilities of the two presentations, or the letters that the model
answered (null for an invalid answer).
"""

from __future__ import annotations

import hashlib
import string
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from winosmith import models
from winosmith.errors import DataError, FormatError
from winosmith.exposure._coins import PRESENTATIONS, Kind, Pair
from winosmith.outputs import atomic_write
from winosmith.problem import Problem
from winosmith.records import dump_json, parse_json_lines, read_text

LETTERS = string.ascii_uppercase

Score = float | str | None


@dataclass(frozen=True)
class Scores:
    """A model's scores for both presentations of each item.

    Attributes:
        model: name of the model.
        kind: kind of the scores: "log-probabilities" or "answers".
        differences: (n,) the score of presentation A minus that of B for each pair; the score of an
            answer is 1 if it is correct, otherwise 0.
        digest: SHA-256 of the scores as hexadecimal digits.
    """

    model: str
    kind: str
    differences: npt.NDArray[np.float64]
    digest: str


def get_presentation_kind(pair: Pair) -> Kind:
    return "options" if pair.a.sentence == pair.b.sentence else "names"


def render_pair(pair: Pair) -> tuple[str, str]:
    """Return the texts of both presentations, with the correct answer.

    For swapped names, a text is the sentence with the correct option in its blank. For reversed
    options, it is the sentence, the options with letters, and the letter of the key.
    """
    kind = get_presentation_kind(pair)

    def render(problem: Problem) -> str:
        answer = _require_answer(problem)
        if kind == "names":
            return models.fill_answer(problem)
        options = (f"{LETTERS[at]}. {option}" for at, option in enumerate(problem.options))
        return "\n".join([problem.sentence, *options, f"Answer: {LETTERS[answer]}"])

    return render(pair.a), render(pair.b)


def _require_answer(problem: Problem) -> int:
    if problem.answer is None:
        raise DataError(
            f"{problem.id!r} has no answer in {PRESENTATIONS}; restore the file that winosmith "
            "release --keyed wrote"
        )
    return problem.answer


def write_presentations(pairs: Sequence[Pair], release: str, path: str | Path) -> None:
    """Write both presentations of each item to a file for scoring.

    The first line is the header of a score file without the model's name. Each of the other lines
    contains an item's id and its presentations `a` and `b`: the `text` to score, which includes the
    answer, and the `sentence` and `options` for models that answer.

    Args:
        pairs: The presentations, in their canonical order.
        release: The release's digest.
        path: The path of the file.

    Raises:
        OutputError: The file can't be written.
    """
    with atomic_write(path) as file:
        file.write(dump_json({"release": release, "model": None}) + "\n")
        for pair in pairs:
            sides = zip(("a", "b"), (pair.a, pair.b), render_pair(pair), strict=True)
            record = {
                side: {"text": text, "sentence": of.sentence, "options": list(of.options)}
                for side, of, text in sides
            }
            file.write(dump_json({"id": pair.a.id, **record}) + "\n")


def score_presentations(
    pairs: Sequence[Pair],
    release: str,
    model: str,
    path: str | Path,
    *,
    device: str | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> None:
    """Write a causal language model's scores for both presentations of each item.

    All texts are scored in one run with one snapshot of the model. The model gets the texts without
    the coins, and the file is complete before any coin is used.

    Args:
        pairs: The presentations, in their canonical order.
        release: The release's digest.
        model: A folder with a saved model, or a model id of the Hugging Face Hub.
        path: The path of the file.
        device: The torch device; by default, the GPU if there is one.
        on_progress: Called with the number of completed texts and the total number.

    Raises:
        InputError: The model can't be loaded.
        DataError: The model gives values that are not finite.
        OutputError: The file can't be written.
    """
    loaded = models.load_causal_model(model, device=device)
    texts = [text for pair in pairs for text in render_pair(pair)]
    values = loaded.score_texts(texts, on_progress=on_progress)
    if not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values))[0]) // 2
        raise DataError(
            f"the model {model} produces non-finite values, first for {pairs[row].a.id!r}; "
            "its weights are damaged"
        )
    header = {
        "release": release,
        "model": Path(model).name if Path(model).is_dir() else str(model),
        "snapshot": models.digest_weights(loaded.folder)[:12],
    }
    with atomic_write(path) as file:
        file.write(dump_json(header) + "\n")
        for pair, a, b in zip(pairs, values[::2], values[1::2], strict=True):
            file.write(dump_json({"id": pair.a.id, "a": a, "b": b}) + "\n")


def read_scores(path: str | Path, pairs: Sequence[Pair], release: str) -> Scores:
    """Read a file with scores for all pairs of a release.

    Args:
        path: The path of the file.
        pairs: The presentations, in their canonical order.
        release: The release's digest.

    Raises:
        FormatError: The header is missing or for another release; a line lacks finite scores for
            both presentations, or has an unknown or repeated id; or items are missing.
    """
    lines = parse_json_lines(read_text(path), path)
    model = _read_header(lines, path, release)
    by_id = {pair.a.id: pair for pair in pairs}
    found: dict[str, tuple[Score, Score]] = {}
    differences: dict[str, float] = {}
    of = ""
    for number, record in lines:
        name = record.get("id")
        if "a" not in record or "b" not in record:
            raise FormatError(BOTH_REQUIRED, path, number)
        if not isinstance(name, str) or name not in by_id:
            raise FormatError(f"the release has no item {name!r} with a coin", path, number)
        if name in found:
            raise FormatError(f"{name!r} already has scores; score each item once", path, number)
        a, b = record["a"], record["b"]
        kind_a, value_a = _parse_score(a, by_id[name].a)
        kind_b, value_b = _parse_score(b, by_id[name].b)
        kinds = {kind_a, kind_b}
        of = of or min(kinds)
        if kinds != {of}:
            wanted = "finite numbers" if of == LOG else "option letters (null if invalid)"
            raise FormatError(
                f"the scores of {name!r} are {a!r} and {b!r}; use {wanted} for both presentations "
                "of all items",
                path,
                number,
            )
        found[name] = a, b
        differences[name] = value_a - value_b
    if left := [name for name in by_id if name not in found]:
        raise FormatError(
            f"{len(left):,} of {len(by_id):,} items have no scores, such as {left[0]!r}; score all "
            "items in one run",
            path,
        )
    state = hashlib.sha256(dump_json([found[name] for name in by_id]).encode())
    ordered = np.array([differences[pair.a.id] for pair in pairs])
    return Scores(model, of, ordered, state.hexdigest())


ANSWERS, LOG = "answers", "log-probabilities"

BOTH_REQUIRED = (
    "the line has no scores 'a' and 'b'; both presentations of each item must be scored in one "
    "run. Published answers can't be used: the model answered only the published presentations"
)


def _read_header(
    lines: Iterator[tuple[int, dict[str, Any]]], path: str | Path, release: str
) -> str:
    number, record = next(lines, (None, {}))
    if "release" not in record:
        reason = BOTH_REQUIRED if record and not {"a", "b"} <= record.keys() else (
            "the file has no header; copy the first line of the file that winosmith exposure "
            "--export wrote"
        )  # fmt: skip
        raise FormatError(reason, path, number)
    if record["release"] != release:
        raise FormatError(
            f"these scores are for the release {str(record['release'])[:12]!r}, not for "
            f"{release[:12]!r}; score the presentations of this release",
            path,
            number,
        )
    name = record.get("model")
    if not isinstance(name, str) or not name.strip():
        raise FormatError("the header has no model name; add it as 'model'", path, number)
    return name


def _parse_score(score: object, problem: Problem) -> tuple[str, float]:
    """Return the kind of a score and its value. An answer's value is 1 if correct, otherwise 0."""
    if score is None or score in [*LETTERS[: len(problem.options)]]:
        return ANSWERS, float(score == LETTERS[_require_answer(problem)])
    if isinstance(score, int | float) and not isinstance(score, bool) and abs(score) < 1e300:
        return LOG, float(score)
    return "unknown", 0.0
