"""Update all generated parts of the documentation.

    make docs                                  # or: python docs/make.py
    python docs/make.py README.md docs/tutorial.md
    python docs/make.py --platform --measured

The script updates, in this order:

- `docs/reference`: the commands' help and the recipe's keys (`make_reference.py`), and the JSON
  schemas (`make_schemas.py`);
- the output of the commands on every page, or on the named pages (`make_outputs.py`). It takes
  pictures of the reports that these commands write (`make_screenshot.py`). A picture contains its
  report's words, so that `tests/test_docs.py` can compare them;
- with `--measured`: charts and tables of the benchmarks that pages name with `--svg docs/images`.
  The printed table replaces the page's table with the same header. This takes an hour;
  numbers in prose must be updated by hand;
- with `--platform`: the screenshots of the platform (`make_platform_screenshots.py`).

The pictures need playwright, Chromium and Pillow.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
import traceback
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import make_outputs
import make_reference
import make_schemas

ROOT = make_outputs.ROOT

_MEASURED = re.compile(r"`python ((?:benchmarks|examples)/[^`]*--svg docs/images[^`]*)`")
_TABLE = re.compile(r"^\|.*\|\n\|[-|: ]+\|\n(?:\|.*\|\n)+", re.MULTILINE)


def make_page(path: Path) -> str:
    """Update the output of a page's commands; return a line with the time, or the error."""
    started = time.monotonic()
    try:
        with tempfile.TemporaryDirectory() as folder:
            make_outputs.write(path, Path(folder).resolve())
            import make_screenshot

            picture = make_screenshot.PICTURES.get(path.relative_to(ROOT).as_posix())
            if picture is not None:
                make_screenshot.take(Path(folder), picture)
    except BaseException:  # noqa: BLE001 - other pages must be updated anyway
        return f"FAILED {path.relative_to(ROOT)}\n{traceback.format_exc()}"
    return f"{path.relative_to(ROOT)}: {time.monotonic() - started:.0f} s"


def with_tables(text: str, printed: str) -> str:
    r"""Return a page in which printed tables replace the tables with the same header.

    >>> with_tables("a\n| x |\n|---|\n| 1 |\n\nb", "| x |\n|---|\n| 2 |\n")
    'a\n| x |\n|---|\n| 2 |\n\nb'
    """
    made = {table[0].split("\n", 1)[0]: table[0] for table in _TABLE.finditer(printed)}
    return _TABLE.sub(lambda own: made.get(own[0].split("\n", 1)[0], own[0]), text)


def measure(path: Path) -> None:
    """Run the benchmarks that draw a page's charts, and insert their printed tables."""
    for command in _MEASURED.findall(path.read_text("utf-8")):
        words = shlex.split(os.path.expandvars(command))
        done = subprocess.run(  # noqa: S603 - these pages are our own
            [sys.executable, *words], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
        )
        print(f"{path.relative_to(ROOT)}: {command}\n{done.stdout}", flush=True)  # noqa: T201
        path.write_text(with_tables(path.read_text("utf-8"), done.stdout), "utf-8")


def main() -> int:
    """Update the requested parts; return 1 if a page failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("pages", nargs="*", type=Path, help="pages to update (default: all)")
    parser.add_argument("--jobs", type=int, default=1, help="number of pages updated in parallel")
    parser.add_argument("--measured", action="store_true", help="also run the long benchmarks")
    parser.add_argument("--platform", action="store_true", help="also take screenshots")
    asked = parser.parse_args()
    make_reference.write()
    make_schemas.write()
    pages = [path.resolve() for path in asked.pages] or make_outputs.pages()
    failed = 0
    with ProcessPoolExecutor(asked.jobs) as executor:
        for line in executor.map(make_page, pages):
            failed += line.startswith("FAILED")
            print(line, flush=True)  # noqa: T201
    if asked.measured:
        for page in pages:
            measure(page)
    if asked.platform:
        import make_platform_screenshots

        make_platform_screenshots.take_all(Path(tempfile.mkdtemp()) / "site")
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
