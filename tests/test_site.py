"""The site of the documentation: complete, self-contained, without dead links, with search."""

import doctest
import json
import re
import shutil
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path

import pytest

from tests.conftest import needed
from tests.test_docs import PAGES, ROOT, script

reference = script("make_reference")
site = script("make_site")

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the site."""
    for module in ("mkdocs", "material", "mkdocstrings"):
        needed(module)
    folder = tmp_path_factory.mktemp("site")
    done = site.build(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_every_page_is_in_the_site(built: Path) -> None:
    """Each page of docs, the README and the project's other pages are there as HTML."""
    others = {"README.md": "index.html"}
    lacking = {
        page
        for page in {*PAGES, "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md"}
        if not (built / others.get(page, page.removesuffix(".md") + ".html")).is_file()
    }
    assert lacking == set()


class _Loads(HTMLParser):
    """The addresses that a browser loads by itself for a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the address of a script, style, picture, font or frame."""
        for name, value in attrs:
            if (name in {"src", "srcset"} or (tag == "link" and name == "href")) and value:
                self.found.add(value)


def _loads(folder: Path) -> Iterator[str]:
    """Yield what pages and style sheets load."""
    for page in folder.rglob("*.html"):
        parser = _Loads()
        parser.feed(page.read_text("utf-8"))
        yield from parser.found
    for sheet in folder.rglob("*.css"):
        yield from re.findall(r"url\(['\"]?([^)'\"]+)", sheet.read_text("utf-8"))


def test_the_site_loads_nothing_from_elsewhere(built: Path) -> None:
    """Scripts, styles, fonts and pictures are files of the site."""
    loads = set(_loads(built))
    assert any(load.endswith(".js") for load in loads)
    assert {load for load in loads if re.match(r"(https?:)?//", load)} == set()


def test_public_names_are_found_by_search(built: Path) -> None:
    """The index of the search has each public function and class, with its docstring."""
    index = json.loads((built / "search/search_index.json").read_text("utf-8"))
    texts = {entry["location"].partition("#")[2]: entry["text"] for entry in index["docs"]}
    lacking = []
    for module in reference.modules():
        for name in reference.public_names(import_module(module)):
            value = getattr(import_module(module), name)
            if callable(value) and getattr(value, "__doc__", None) and hasattr(value, "__name__"):
                lacking += [] if texts.get(f"{module}.{name}") else [f"{module}.{name}"]
    assert lacking == []


def test_examples_of_docstrings_are_code(built: Path) -> None:
    """An example in a docstring is shown as code, not as a quotation."""
    page = (built / "docs/reference/python/winosmith.lineage.html").read_text("utf-8")
    assert '<span class="gp">&gt;&gt;&gt; </span>' in page
    assert "<blockquote>" not in page


def test_a_dead_link_ends_the_build(built: Path, tmp_path: Path) -> None:
    """A link to no page, and one to no heading, are errors that name the link."""
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    for file in [*ROOT.glob("*.md"), ROOT / "LICENSE", ROOT / "CITATION.cff"]:
        shutil.copy(file, tmp_path)
    page = tmp_path / "docs/mirror.md"
    page.write_text(f"{page.read_text('utf-8')}\n[a](missing.md) [b](terms.md#missing)\n", "utf-8")
    done = site.build(tmp_path / "site", root=tmp_path)
    assert done.returncode == 1
    assert "'missing.md'" in done.stderr
    assert "'terms.md#missing'" in done.stderr


def test_every_module_that_pages_import_has_a_page() -> None:
    """Modules that pages and examples import are in the Python reference."""
    texts = [*PAGES.values(), *(f.read_text("utf-8") for f in ROOT.glob("examples/*.py"))]
    code = "\n".join(texts)
    imported = {f"winosmith.{name}" for name in re.findall(r"from winosmith\.(\w+) import", code)}
    for names in re.findall(r"from winosmith import ([^#\n\\]+)", code):
        imported |= {f"winosmith.{name}" for name in re.findall(r"\b[a-z]\w*", names)}
    assert imported - set(reference.modules()) == set()


def test_the_examples_of_the_scripts_hold() -> None:
    """The examples in the docstrings of the scripts give what they say."""
    needed("griffe")
    found = [doctest.testmod(module) for module in (site, script("griffe_doctests"))]
    assert [one.failed for one in found] == [0, 0]
    assert all(one.attempted for one in found)
