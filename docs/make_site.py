"""Build the documentation as a static site with search, without a network.

    make site                                 # or: python docs/make_site.py site
    python -m http.server --directory site    # search needs a server

The site contains every page of docs, README, ARCHITECTURE, CONTRIBUTING and CHANGELOG, and a page
for each public module from its docstrings. The build fails if a link or anchor is dead, or if
docs/index.md does not list a page. All files are copied to a folder with the layout of the
repository, so that links have the same targets as on GitHub.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path

import make_outputs
import make_reference

ROOT = make_outputs.ROOT
COPIED = ("*.md", "LICENSE", "CITATION.cff", "docs/**/*.md", "docs/reference/**/*.json",
          "docs/images/*", "examples/*.py", "examples/*.ipynb")  # fmt: skip
"""Files of the site, as patterns from the root of the repository."""

PYTHON = "docs/reference/python"
"""The folder of the modules' pages."""


def build(folder: Path, *, root: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Build the site in a folder, after removing its earlier content.

    Args:
        folder: the output folder.
        root: a repository with the pages; the modules are always the installed ones.
    """
    with tempfile.TemporaryDirectory() as place:
        staged = Path(place)
        _stage(root, staged / "pages")
        settings = (ROOT / "docs" / "mkdocs.yml").read_text("utf-8")
        nav = _nav((root / "docs" / "index.md").read_text("utf-8"))
        shutil.copyfile(ROOT / "docs" / "griffe_doctests.py", staged / "griffe_doctests.py")
        (staged / "mkdocs.yml").write_text(f"{settings}nav: {json.dumps(nav)}\n", "utf-8")
        return subprocess.run(  # noqa: S603
            [sys.executable, "-m", "mkdocs", "build", "--strict", "--clean",
             "--site-dir", str(folder.resolve())],
            cwd=staged,
            env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
            capture_output=True,
            text=True,
            check=False,
        )  # fmt: skip


def _stage(root: Path, pages: Path) -> None:
    """Copy all pages and files of the site, and write the pages of the modules."""
    for source in sorted({path for pattern in COPIED for path in root.glob(pattern)}):
        target = pages / source.relative_to(root)
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.suffix == ".md":
            target.write_text(with_titles(source.read_text("utf-8")), "utf-8")
        else:
            shutil.copyfile(source, target)
    listed = pages / f"{PYTHON}.md"
    text = listed.read_text("utf-8")
    for module in make_reference.modules():
        page = pages / PYTHON / f"{module}.md"
        page.parent.mkdir(exist_ok=True)
        page.write_text(_module_page(module), "utf-8")
        text = text.replace(f"## `{module}`\n", f"## [`{module}`](python/{module}.md)\n")
    listed.write_text(text, "utf-8")


def _module_page(module: str) -> str:
    """Return the page of a module, from the docstrings of its public names."""
    names = make_reference.public_names(import_module(module))
    options = json.dumps({"members": sorted(names, key=lambda name: (name[0].isupper(), name))})
    return f"# `{module}`\n\n::: {module}\n    options: {options}\n"


def with_titles(text: str) -> str:
    r"""Return a page in which the file name of a block of code is its title.

    >>> with_titles("```csv a.csv\nid\n```\n```console 2%\n$ true\n```\n")
    '```csv title="a.csv"\nid\n```\n```console\n$ true\n```\n'
    """
    text = re.sub(r"^```(\w+) \d+%$", r"```\1", text, flags=re.MULTILINE)
    return re.sub(r"^```(\w+) ([\w./-]+)$", r'```\1 title="\2"', text, flags=re.MULTILINE)


def _nav(index: str) -> list[dict[str, object]]:
    """Return the navigation: the headings and links of docs/index.md."""
    nav: list[dict[str, object]] = [{"winosmith": "README.md"}, {"All pages": "docs/index.md"}]
    start, *chapters = index.split("\n## ")
    for chapter in [f"Start\n{start}", *chapters]:
        title, _, body = chapter.partition("\n")
        links = re.findall(r"\[([^\]]+)\]\(([^)#]+\.md)", body)
        pages: list[dict[str, str]] = [
            {name.replace("`", ""): os.path.normpath(f"docs/{link}")} for name, link in links
        ]
        if any(f"{PYTHON}.md" in page.values() for page in pages):
            pages += [{module: f"{PYTHON}/{module}.md"} for module in make_reference.modules()]
        if pages:
            nav.append({title: pages})
    return nav


def main() -> int:
    """Build the site in the folder given on the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="Folder of the site; it is replaced.")
    done = build(parser.parse_args().folder)
    sys.stdout.write(done.stdout + done.stderr)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
