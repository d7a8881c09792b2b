"""Models' answers, read from what tools write of them; each row finds its item by its words."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import shutil
import warnings
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import ascii_uppercase
from tempfile import TemporaryDirectory
from typing import Any

from winosmith import formats
from winosmith.data import Delimited, Source
from winosmith.dataset import Dataset
from winosmith.errors import FormatError, InputError, require
from winosmith.problem import Problem
from winosmith.records import canonical, parsed

Answers = Mapping[str, Mapping[str, int | None]]
"""By model, the index of the option that it chose of each item, by id; None where it chose none."""

_Chosen = dict[str, dict[str, int | None]]

_FEW = 50
"""Of so many items with the same options a row's text is searched for each one's question."""

_LONGEST, _IN_ALL, _PARTS = 1 << 30, 1 << 32, 200_000
"""So many bytes a part of an `.eval` log may unpack to, and all; and so many parts it may have."""

_LABEL = re.compile(rb"\d\d?|[A-Za-z]")
"""The first line of a list without ids, a label a line, in the order of the items."""

_LOGS = ("samples_*.jsonl", "*.eval")
"""Files of answers that are looked for in a folder."""


_NO_LETTER = "none is the letter of an option; write A for the first one, B for the second"

_SHAPES = (
    'answers are read from a table of ids and letters, a list of labels, an object such as {"q1": '
    '"A"}, predictions of winosmith solve, samples of lm-evaluation-harness, or a log of '
    "inspect_ai: of another log make a table, a row an item with its id, and a column a model with "
    "the letters it chose"
)


def read_answers(
    path: str | Path | Sequence[str | Path],
    dataset: Dataset,
    columns: formats.Columns | None = None,
) -> _Chosen:
    """Read what models chose: predictions, a table of letters, or logs of another harness.

    - Predictions of `winosmith solve`, by their ids.
    - A table whose first column, or that named `id`, holds the items' ids; each other one a model's
      letters, A for the first option. A cell with anything else is no answer.
    - A JSON object of one model's labels by the ids of items, `{"q1": "A"}`: a letter, a number
      from 1, or the option's text. Anything else is no answer.
    - Samples of lm-evaluation-harness (`samples_TASK_DATE.jsonl` of `--log_samples`). The option
      with the highest log-likelihood was chosen (what `acc` counts), or the one whose letter or
      text was generated. The model is the folder's name, as the harness writes it.
    - A log of inspect_ai (`.eval` or `.json`), by the answers of its scorers. Of several epochs,
      the answer given most often counts.

    A row of a log belongs to the item with its question and its options, in whatever order they
    stand; its id decides only where the texts fit besides. Its place in the log tells nothing.
    Rows of no item are told in a `formats.ReadingNote`, if they are less than half, and so are
    files of a folder that are of another set. Options of equal score are no answer.

    Args:
        path: a file; a folder, for all `samples_*.jsonl` and `*.eval` in it; or several of these.
            A model may stand in several files, with other items in each.
        dataset: the items.
        columns: which columns hold question and choices in a log's records, where they are not
            named as others name them.

    Raises:
        FormatError: none of these, or of another set; or a model answers an item in two files.
        MissingExtraError: an `.eval` log is read, and inspect_ai is not installed.
    """
    given = [path] if isinstance(path, str | Path) else path
    found: _Chosen = {}
    for file, read in (one for each in given for one in _each(Path(each), dataset, columns)):
        for model, chosen in read.items():
            own = found.setdefault(model, {})
            if twice := next((name for name in chosen if name in own), None):
                raise FormatError(
                    f"the model {model!r} has answered {twice!r} in another file already: give one "
                    "run of each model; a list names it by its file, samples of "
                    "lm-evaluation-harness by their folder",
                    file,
                )
            own |= chosen
    return found


def _each(
    path: Path, dataset: Dataset, columns: formats.Columns | None
) -> Iterator[tuple[Path, _Chosen]]:
    """Yield what each file holds; of a folder's, those of other sets are told and left out."""
    if not path.is_dir():
        yield path, _read(path, dataset, columns)
        return
    files = sorted(file for pattern in _LOGS for file in path.rglob(pattern))
    unread: list[FormatError] = []
    for file in files:
        try:
            yield file, _read(file, dataset, columns)
        except FormatError as error:
            unread.append(error)
    if len(unread) == len(files):
        raise unread[0] if unread else FormatError(f"no logs here ({', '.join(_LOGS)})", path)
    for left in unread:
        warnings.warn(f"{left}; the file is left out", formats.ReadingNote, stacklevel=4)


def _read(path: Path, dataset: Dataset, columns: formats.Columns | None) -> _Chosen:
    try:
        with path.open("rb") as file:
            first = file.readline().strip()
    except OSError as error:
        raise FormatError(error.strerror or str(error), path) from error
    if first.startswith(b"PK"):
        return _of_logs(*_inspect_log(path), dataset, path)
    first = first.removeprefix(b"\xef\xbb\xbf")
    if first.startswith(b"[") or _LABEL.fullmatch(first):
        return _by_id(formats.read_predictions(path, dataset))
    if not first.startswith(b"{"):
        return _table(path, dataset)
    try:
        record = parsed(first.decode("utf-8"))
    except ValueError:
        record = None  # a JSON document over several lines
    if isinstance(record, dict) and record.keys() & {"resps", "filtered_resps"}:
        return {path.absolute().parent.name: _of_samples(path, dataset, columns)}
    if isinstance(record, dict) and record.keys() & {"predictions", "id", "choice"}:
        return _by_id(formats.read_predictions(path))
    try:
        text = path.read_text("utf-8-sig")
        held = json.loads(text)
        labels = None if {"eval", "configs"} & held.keys() else parsed(text)
    except (ValueError, RecursionError) as error:
        wrong = "these are no predictions" if record else f"this is not JSON ({error})"
        raise FormatError(f"{wrong}; {_SHAPES}", path, 1 if record else None) from None
    if labels is None:
        return _of_logs(*_inspect_json(held, path), dataset, path)
    return {path.stem: _of_labels(labels, dataset, path)}


def _of_labels(held: Mapping[str, Any], dataset: Dataset, path: Path) -> dict[str, int | None]:
    """Return the options of labels by the ids of items."""
    known = {*dataset.ids}
    lost = [name for name in held if name not in known]
    if lost or not held:
        raise FormatError(
            f"{len(lost):,} of the {len(held):,} keys of this object are no ids of items"
            + (f", as {lost[0]!r}" if lost else "")
            + f"; {_SHAPES}",
            path,
        )
    found = {name: _labelled(held[name], dataset[dataset.row(name)], path) for name in held}
    if all(choice is None for choice in found.values()):
        raise FormatError(_NO_LETTER, path)
    return found


def _labelled(label: Any, problem: Problem, path: Path) -> int | None:
    """Return the option that a label names: by its letter, its number from 1, or its text."""
    if type(label) not in (str, int):
        return None
    told = str(label).strip()
    said = _said(told, problem.options)
    if not told.isdecimal():
        return said
    counted = formats.option_at(told)
    if counted < 0 or (said is not None and said != counted):
        also = "" if said is None else f", and {told!r} is the text of another"
        raise FormatError(
            f"{problem.id!r}: {told} is no label: options are counted from 1{also}; write A for "
            "the first",
            path,
        )
    return counted if counted < len(problem.options) else None


def _by_id(found: formats.Predictions) -> _Chosen:
    return {found.solver: {p.problem_id: p.choice for p in found.predictions}}


def _table(path: Path, dataset: Dataset) -> _Chosen:
    source = Source(path)
    try:
        cut = Delimited(source).separator
        rows = list(csv.reader(io.StringIO(source.text), delimiter=cut))
    except csv.Error as error:
        raise FormatError(f"this is no table: {error}", path) from None
    head = rows[0]
    twice = next((name for name in head if head.count(name) > 1), None)
    if twice is not None:
        raise FormatError(f"two columns are named {twice!r}", path, 1)
    at = head.index("id") if "id" in head else 0
    if len(head) < 2:
        raise FormatError("a table with ids and a column a model is needed", path, 1)
    counts = {problem.id: len(problem.options) for problem in dataset}
    models: _Chosen = {name: {} for column, name in enumerate(head) if column != at}
    given: set[str] = set()
    for line, row in enumerate(rows[1:], 2):
        if not row:
            continue
        if len(row) != len(head):
            raise FormatError(f"{len(row)} cells; the header has {len(head)}", path, line)
        if row[at] in given:
            raise FormatError(
                f"the id {row[at]!r} is there a second time; a row has all answers to an item, "
                "those of each model in a column of its name",
                path,
                line,
            )
        given.add(row[at])
        for column, name in enumerate(head):
            if column != at:
                models[name][row[at]] = _letter(row[column], counts.get(row[at], 0))
    of_items = sum(row[at] in counts for row in rows[1:] if row)
    if 2 * of_items < len(rows) - 1:
        raise FormatError(
            f"{of_items:,} of {len(rows) - 1:,} ids are those of items: is this of another set?",
            path,
        )
    if all(choice is None for chosen in models.values() for choice in chosen.values()):
        raise FormatError(_NO_LETTER, path)
    left = {
        name: "holds no letter of an option"
        for name, chosen in models.items()
        if all(choice is None for choice in chosen.values())
    }
    if len(models) > len(left) + 1:
        left |= {name: "is of keys" for name in models.keys() - left if formats.of_answers(name)}
    for name, why in left.items():
        del models[name]
        told = f"{path}: the column {name!r} {why}, no model's answers; it is left out"
        warnings.warn(told, formats.ReadingNote, stacklevel=5)
    return models


def _letter(cell: str, options: int) -> int | None:
    """Return the option of a letter; None where the cell holds none of the options' letters."""
    letters = ascii_uppercase[:options]
    letter = cell.strip().upper()
    return letters.index(letter) if len(letter) == 1 and letter in letters else None


@dataclass(frozen=True, slots=True)
class _Row:
    """What a log holds of one item that a model was asked.

    `options` are in the log's order, which `choice` and `target` count in; empty where the log does
    not have them. `text` is all that was asked.
    """

    line: int | None
    id: str
    question: str
    options: tuple[str, ...]
    text: str
    choice: int | None
    target: int | None


def _told(text: str) -> str:
    """Return a text as rows and items are compared: in any case, white space tidy."""
    return " ".join(text.split()).casefold()


class _Matcher:
    """Finds the items of a row; where they are copies, its id's, or else all."""

    def __init__(self, dataset: Dataset):
        self.by_options: dict[frozenset[str], list[Problem]] = defaultdict(list)
        self.by_text: dict[tuple[str, frozenset[str]], list[Problem]] = defaultdict(list)
        self.by_id = {problem.id: problem for problem in dataset}
        for problem in dataset:
            options = frozenset(map(_told, problem.options))
            self.by_options[options].append(problem)
            self.by_text[_told(problem.sentence), options].append(problem)

    def of(self, row: _Row) -> list[Problem]:
        own = self.by_id.get(row.id)
        if not row.options:
            asked = own is not None and _holds(row.text, own)
            known = own is not None and row.target is not None and row.target == own.answer
            return [own] if own and asked and known and _lists(row.text, own) else []
        options = frozenset(map(_told, row.options))
        if found := self.by_text.get((_told(row.question), options)):
            return [own] if own in found else found
        alike = self.by_options.get(options, [])
        if len(alike) == 1 and alike[0] is own:
            return alike
        near = alike if len(alike) <= _FEW else [one for one in alike if one is own]
        held = [one for one in near if _holds(row.text, one)]
        return held if len(held) == 1 else [one for one in held if one is own]


def _holds(text: str, problem: Problem) -> bool:
    parts = (problem.sentence,) if problem.blank is None else (problem.before, problem.after)
    return all(_told(part) in text for part in parts)


def _lists(text: str, problem: Problem) -> bool:
    return all(_told(option) in text for option in problem.options)


def _option(problem: Problem, text: str) -> int | None:
    """Return the option of that text, its case regarded where it tells options apart."""
    for as_told in (lambda one: " ".join(one.split()), _told):
        there = [
            at for at, option in enumerate(problem.options) if as_told(option) == as_told(text)
        ]
        if len(there) == 1:
            return there[0]
    return None


def _matched(
    rows: Sequence[_Row], dataset: Dataset, path: Path, because: str = ""
) -> dict[str, int | None]:
    """Return the option chosen of each item that a row is of."""
    matcher, votes, lost = _Matcher(dataset), defaultdict[str, Counter[int]](Counter), []
    for row in rows:
        items = matcher.of(row)
        if not items:
            lost.append(row)
        for problem in items:
            own, chosen = votes[problem.id], row.choice
            if chosen is not None and row.options:
                chosen = _option(problem, row.options[chosen])
            if chosen is not None and chosen < len(problem.options):
                own[chosen] += 1
    if 2 * len(lost) > len(rows) or not rows:
        raise FormatError(
            f"{len(rows) - len(lost):,} of {len(rows):,} rows have the question and the options of "
            f"an item: is this of another set?{because}",
            path,
            lost[0].line if lost else None,
        )
    found = {name: _most(counts) for name, counts in votes.items()}
    if not any(choice is not None for choice in found.values()):
        raise FormatError(
            "no row tells which option was chosen: needed are log-likelihoods of all options, or "
            "an answer that is a letter or an option",
            path,
            rows[0].line,
        )
    if lost:
        first = f"line {lost[0].line}" if lost[0].line else repr(lost[0].id)
        warnings.warn(
            f"{path}: {len(lost):,} of {len(rows):,} rows are of no item ({first}, …); they are "
            "left out",
            formats.ReadingNote,
            stacklevel=3,
        )
    return found


def _most(counts: Counter[int]) -> int | None:
    """Return what was chosen most often; None for nothing, and for a draw."""
    first = counts.most_common(2)
    drawn = len(first) == 2 and first[0][1] == first[1][1]
    return None if drawn or not first else first[0][0]


_LETTER = re.compile(r"\(?([A-Za-z])[).:]?")


def _said(text: str, options: Sequence[str]) -> int | None:
    """Return the option that an answer in words names, by its letter or its text."""
    said = [at for at, option in enumerate(options) if _told(option) == _told(text)]
    if len(said) == 1:
        return said[0]
    letter = _LETTER.fullmatch(text.strip())
    at = ascii_uppercase.index(letter[1].upper()) if letter else len(ascii_uppercase)
    return at if at < (len(options) or len(ascii_uppercase)) else None


# lm-evaluation-harness


def _of_samples(
    path: Path, dataset: Dataset, columns: formats.Columns | None
) -> dict[str, int | None]:
    """Return the answers of a file of samples: of its filters, that which finds most answers."""
    by_filter: dict[str, list[tuple[int, Mapping[str, Any]]]] = defaultdict(list)
    for line, sample in _samples(path):
        by_filter[str(sample.get("filter"))].append((line, sample))
    first = next(iter(by_filter.values()))
    asked, because = _asked([sample["doc"] for _, sample in first], path, columns)
    read = []
    for samples in by_filter.values():
        if len(samples) != len(first):
            raise FormatError("its filters have not as many samples each", path, samples[0][0])
        read.append(
            [
                _sample_row(line, sample, item, path)
                for (line, sample), item in zip(samples, asked, strict=True)
            ]
        )
    best = max(read, key=lambda rows: sum(row.choice is not None for row in rows))
    return _matched(best, dataset, path, because)


def _samples(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                sample = parsed(line.decode("utf-8-sig"))
            except ValueError as error:
                raise FormatError(f"the line is not JSON ({error})", path, number) from None
            if not isinstance(sample, dict) or not isinstance(sample.get("doc"), dict):
                raise FormatError("this is no sample: it has no 'doc'", path, number)
            if not isinstance(sample.get("filtered_resps", sample.get("resps")), list):
                raise FormatError("this is no sample: it has no 'filtered_resps'", path, number)
            yield number, sample


def _asked(
    docs: Sequence[Mapping[str, Any]], path: Path, columns: formats.Columns | None
) -> tuple[list[Problem | None], str]:
    """Return what each record of a task asks, and why where they can't be read."""
    raw = "".join(canonical(doc) + "\n" for doc in docs).encode("utf-8", "surrogatepass")
    named = columns if columns and {*columns.question} <= docs[0].keys() else None
    try:
        contents = formats.scan(formats.Source(path, raw), columns=named, as_written=True)
    except InputError as error:
        why = error.reason if isinstance(error, FormatError) else str(error)
        return [None] * len(docs), f" Their 'doc' can't be read as items: {why}"
    found: list[Problem | None] = [None] * len(docs)
    for line, item in zip(contents.lines, contents.items, strict=True):
        found[line - 1] = item if isinstance(item, Problem) else None
    bad = f" A 'doc' can't be read as an item: {contents.bad[0].reason}" if contents.bad else ""
    return found, bad


_IDS = ("id", "qID", "qid", "question_id", "uid", "ind", "idx")
"""Where a record has its id."""


def _sample_row(line: int, sample: Mapping[str, Any], item: Problem | None, path: Path) -> _Row:
    given = sample.get("filtered_resps", sample.get("resps"))
    requests = sample.get("arguments") or {}
    asked = [one.get("arg_0", "") for one in _requests(requests)]
    ends = [one.get("arg_1", "") for one in _requests(requests)]
    options = item.options if item else ()
    target = str(sample.get("target", ""))
    doc = sample["doc"]
    name = next((str(doc[key]) for key in _IDS if key in doc), "")
    scores = [_score(one, path, line) for one in given]
    if all(score is None for score in scores):
        choice = _said(_text(given[0]) if given else "", options)
    else:
        choice = _highest(scores, [end for end in ends if isinstance(end, str)], item, target)
    return _Row(
        line,
        name,
        item.sentence if item else "",
        options,
        _told(" ".join([*map(str, doc.values()), *map(str, asked[:1])])),
        choice,
        _place(target) if target.isdigit() else _letter(target, len(ascii_uppercase)),
    )


def _place(target: str) -> int | None:
    """Return the place that a target is, from 0; None where it is none."""
    return int(target) if target.isdecimal() and len(target) < 4 else None


def _requests(arguments: Any) -> list[Mapping[str, Any]]:
    """Return what was asked of the model for one sample, in order."""
    if isinstance(arguments, Mapping):
        return [one for one in arguments.values() if isinstance(one, Mapping)]
    given = arguments if isinstance(arguments, list) else []
    parts = (one for one in given if isinstance(one, list))
    return [{f"arg_{at}": part for at, part in enumerate(one)} for one in parts]


def _score(given: Any, path: Path, line: int) -> float | None:
    """Return a log-likelihood, as the harness writes it beside whether it is the greedy one."""
    while isinstance(given, list) and len(given) == 1:
        given = given[0]
    if not (isinstance(given, list) and len(given) == 2 and str(given[1]) in ("True", "False")):
        return None
    try:
        return float(given[0])
    except (TypeError, ValueError):
        raise FormatError(f"{given[0]!r} is no log-likelihood", path, line) from None


def _text(given: Any) -> str:
    while isinstance(given, list) and given:
        given = given[0]
    return str(given)


def _highest(
    scores: Sequence[float | None], ends: Sequence[str], item: Problem | None, target: str
) -> int | None:
    """Return the option with the highest score: by its text or letter where these were scored.

    Where neither was, as in a cloze, the options' order is taken if the target has that order too.
    """
    count = len(item.options) if item else len(scores)
    if len(scores) == 2 * count:  # the options alone, after those that follow the question
        scores = scores[:count]
    known = [score for score in scores if score is not None and not math.isnan(score)]
    if len(scores) != count or len(known) != count or known.count(max(known)) > 1:
        return None
    best = known.index(max(known))
    if item is None:
        return best
    scored = ends[:count]
    if {*map(_told, scored)} == {*map(_told, item.options)}:
        return _option(item, scored[best])
    letters = [_said(end, [""] * count) for end in scored]
    if sorted(at for at in letters if at is not None) == list(range(count)):
        return letters[best]
    if target.isdigit() and item.answer is not None and _place(target) != item.answer:
        return None
    return best


# inspect_ai


def _inspect_log(path: Path) -> tuple[str, list[Mapping[str, Any]]]:
    """Return the model of an `.eval` log, and its samples."""
    log = require("inspect_ai.log", "inspect")
    try:
        with TemporaryDirectory() as folder:
            sound = Path(folder) / "log.eval"
            _copy_bounded(path, sound)
            model = str(log.read_eval_log(str(sound), header_only=True).eval.model)
            samples = log.read_eval_log_samples(
                str(sound), all_samples_required=False, resolve_attachments="core"
            )
            kept = {"id", "input", "choices", "target", "scores"}
            return model, [sample.model_dump(mode="json", include=kept) for sample in samples]
    except FormatError:
        raise
    except Exception as error:  # noqa: BLE001 - of an archive by anybody, read by another library
        what = " ".join(str(error).split())[:300] or type(error).__name__
        raise FormatError(f"this log of inspect_ai can't be read: {what}", path) from None


def _copy_bounded(path: Path, to: Path) -> None:
    """Copy a log as an archive in which every size is true.

    Sizes that an archive states may be wrong, and readers differ in what they then do; `zipfile`
    stops at the stated size and compares the check sum.

    Raises:
        FormatError: it would unpack to too much, or its parts lie in one another.
    """
    with zipfile.ZipFile(path) as packed, zipfile.ZipFile(to, "w", zipfile.ZIP_STORED) as sound:
        parts = {part.filename: part for part in packed.infolist()}  # of two the later one counts
        stated = sum(part.file_size for part in parts.values())
        longest = max(parts.values(), key=lambda part: part.file_size, default=None)
        if len(parts) > _PARTS:
            raise FormatError(f"this log has {len(parts):,} parts, over {_PARTS:,}", path)
        if longest and longest.file_size > _LONGEST:
            raise FormatError(
                f"{longest.filename!r} of this log would unpack to {_size(longest.file_size)}, "
                f"over {_size(_LONGEST)}",
                path,
            )
        if stated > _IN_ALL:
            raise FormatError(
                f"this log would unpack to {_size(stated)}, over {_size(_IN_ALL)}", path
            )
        if sum(part.compress_size for part in packed.infolist()) > path.stat().st_size:
            raise FormatError("the parts of this log lie in one another", path)
        for part in parts.values():
            with packed.open(part) as source, sound.open(part.filename, "w") as target:
                shutil.copyfileobj(source, target, 1 << 20)


def _size(count: int) -> str:
    return f"{count / 2**20:,.0f} MiB"


def _inspect_json(log: Mapping[str, Any], path: Path) -> tuple[str, list[Mapping[str, Any]]]:
    if "configs" in log and "samples" not in log:
        raise FormatError(
            "these are results, not answers: run lm_eval with --log_samples, and give the files "
            "samples_*.jsonl that it writes",
            path,
        )
    if not isinstance(log.get("eval"), dict) or not isinstance(log.get("samples"), list):
        raise FormatError("this is no log of inspect_ai with samples", path)
    return str(log["eval"].get("model")), log["samples"]


def _of_logs(
    model: str, samples: Sequence[Mapping[str, Any]], dataset: Dataset, path: Path
) -> _Chosen:
    if not samples:
        raise FormatError("the log holds no samples", path)
    if not all(isinstance(sample, dict) for sample in samples):
        raise FormatError("this is no log of inspect_ai: a sample is no record", path)
    return {model: _matched([_log_row(sample) for sample in samples], dataset, path)}


def _log_row(sample: Mapping[str, Any]) -> _Row:
    choices, attachments, scored = map(sample.get, ("choices", "attachments", "scores"))
    options = tuple(map(str, choices)) if isinstance(choices, list) else ()
    asked = _input(sample.get("input"), attachments if isinstance(attachments, dict) else {})
    scores = [*scored.values()] if isinstance(scored, dict) else []
    scores = [score for score in scores if isinstance(score, dict)]
    said = (_said(str(score.get("answer") or ""), options) for score in scores)
    target = sample.get("target")
    return _Row(
        None,
        str(sample.get("id", "")),
        asked,
        options,
        _told(asked),
        next((choice for choice in said if choice is not None), None),
        _letter(target if isinstance(target, str) else "", len(ascii_uppercase)),
    )


def _input(given: Any, attachments: Mapping[str, str]) -> str:
    """Return what a sample asks: a text, or the user's part of a conversation."""
    if isinstance(given, list):
        return " ".join(
            _input(message.get("content"), attachments) if "role" in message
            else _input(message.get("text", ""), attachments)
            for message in given
            if isinstance(message, dict) and message.get("role", "user") == "user"
        )  # fmt: skip
    text = str(given)
    return attachments.get(text.removeprefix("attachment://"), text)
