"""Winosmith's own format: JSON Lines, one problem or claim a line, every field kept.

A field that is empty or has its default is left out; `winosmith.records` has the keys. Problems
that would be taken for twins, though none of the file is a twin's half, have `"twin_id": null`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from typing import IO, Any

from winosmith.formats._base import Format, Item, Source, Writer, json_lines
from winosmith.formats._twins import would_be_paired
from winosmith.problem import Claim, Problem
from winosmith.records import canonical, claim_of, claim_record, problem_of, problem_record


def _recognises(source: Source) -> bool:
    record = source.first_record
    return {"id", "sentence", "options"} <= record.keys() or {
        "problem_id",
        "sentence",
        "candidate",
    } <= record.keys()


def _item(record: Mapping[str, Any], position: int) -> Item:
    return claim_of(record) if "candidate" in record else problem_of(record)


def lines(items: Iterable[Item], marked: bool | None = None) -> Iterator[str]:
    r"""Yield problems or claims as the lines of a file in our own format, each with its end.

    Args:
        items: all of the file, in order.
        marked: whether a problem without twin and lineage says so. None is what a file needs:
            where none of its problems has either, and some look like twins. To tell that, all
            problems are held at once; where they are too many, say True, of any part of a file.

    >>> one = Problem("a", "The _ fell.", ("cup", "jug"), 0)
    >>> [*lines([one])], [*lines([one], marked=True)][0][-16:]
    (['{"id":"a","sentence":"The _ fell.","options":["cup","jug"],"answer":0}\n'], '"twin_id":null}\n')
    """  # noqa: E501
    if marked is None:
        items = list(items)
        problems = [item for item in items if isinstance(item, Problem)]
        silent = not any(problem.twin_id or problem.lineage for problem in problems)
        marked = silent and would_be_paired(problems)
    for item in items:
        record = problem_record(item) if isinstance(item, Problem) else claim_record(item)
        if marked and isinstance(item, Problem) and not (item.twin_id or item.lineage):
            record["twin_id"] = None
        yield canonical(record) + "\n"


def frame(problems: Iterable[Problem]) -> Any:
    """Return problems as a pandas DataFrame, which `formats.read` reads as they were.

    Its columns are the keys of our JSON Lines, `id`, `sentence`, `blank`, `options`, `answer` and
    those that a problem has; a value that a problem lacks is None.

    >>> frame([Problem("q", "Why?", ("a", "b"), 1, blank=None)]).loc[0, "options"]
    ['a', 'b']
    """
    import pandas

    records = [{"answer": None, **problem_record(p), "blank": p.blank} for p in problems]
    named = dict.fromkeys(name for record in records for name in record)
    first = [name for name in ("id", "sentence", "blank", "options", "answer") if name in named]
    return pandas.DataFrame(
        {
            name: pandas.Series([record.get(name) for record in records], dtype=object)
            for name in dict.fromkeys([*first, *named])
        }
    )


def _write(items: Iterable[Item], file: IO[str]) -> None:
    file.writelines(lines(items))


JSONL = Format(
    name="winosmith",
    title="our own JSON Lines, one record a line, nothing lost",
    recognises=_recognises,
    needs=frozenset({"id", "sentence", "options"}),
    read=lambda source: json_lines(source, _item),
    writer=Writer(
        _write,
        suffix=".jsonl",
        keeps=frozenset(f.name for kind in (Problem, Claim) for f in fields(kind)),
        holds=Problem | Claim,
    ),
    silent_on_twins=lambda source: (
        not any(f'"{key}"' in source.text for key in ("twin_id", "lineage"))
    ),
)
