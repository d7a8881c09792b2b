"""`winosmith audit --fix`: put the options of quizzes in random orders, in their own files."""

from __future__ import annotations

from collections.abc import Sequence

from winosmith.cli._options import reading_arguments
from winosmith.cli._output import Output


def fix_files(
    paths: Sequence[str], format_name: str | None, seed: int, *, as_json: bool, out: str | None
) -> None:
    """Change files in place, and print what became of each.

    Args:
        paths: the files, which are one data set.
        format_name: their format; found from their content if None.
        seed: of the orders.
        as_json: print JSON.
        out: a page to write, too.

    Raises:
        InputError: the files can't be read, or not be written back as they are.
    """
    from winosmith import audit
    from winosmith.report import Section, Table

    how = reading_arguments()
    found = audit.fix(
        paths, seed, format_name=format_name, columns=how["columns"], encoding=how["encoding"]
    )
    written = found.write()
    items = sum(file.items for file in found.files)
    changed = sum(file.changed for file in found.files)
    verdict = (
        f"{changed:,} of {items:,} items have their options in another order now, in "
        f"{len(written):,} of {len(found.files):,} files."
    )
    columns = ["file", "items", "changed", "most at one place", "by chance at most"]
    rows: list[list[str | int]] = [
        [f.path, f.items, f.changed, f.most, f.chance] for f in found.files
    ]
    note = (
        "Most at one place: the number of items whose correct option is at the place where it is "
        "most often. By chance at most: in 95 of 100 files of as many items with random orders."
    )
    sections = [Section("Files", [Table("Places of the correct option", columns, rows, note)])]
    if found.unchanged:
        left = [[str(one.place), one.reason] for one in found.unchanged]
        table = Table("Items left as they are", ["place", "reason"], left)
        sections.append(Section("Unchanged", [table]))
    Output("Options in random orders", found.record(), sections, verdict=verdict, apart=True).show(
        as_json=as_json, out=out
    )
