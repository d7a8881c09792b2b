"""The documentation site: complete, self-contained, searchable, and without dead links."""

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
    """Return the folder of the built site."""
    for module in ("mkdocs", "material", "mkdocstrings"):
        needed(module)
    folder = tmp_path_factory.mktemp("site")
    done = site.build(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_every_page_is_in_the_site(built):
    others = {"README.md": "index.html"}
    lacking = {
        page
        for page in {*PAGES, "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md"}
        if not (built / others.get(page, page.removesuffix(".md") + ".html")).is_file()
    }
    assert lacking == set()


class _Loads(HTMLParser):
    """The addresses that a browser loads automatically for a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record the address of a script, style, picture, font or frame."""
        for name, value in attrs:
            if (name in {"src", "srcset"} or (tag == "link" and name == "href")) and value:
                self.found.add(value)


def _loads(folder: Path) -> Iterator[str]:
    """Yield the addresses that pages and style sheets load."""
    for page in folder.rglob("*.html"):
        parser = _Loads()
        parser.feed(page.read_text("utf-8"))
        yield from parser.found
    for sheet in folder.rglob("*.css"):
        yield from re.findall(r"url\(['\"]?([^)'\"]+)", sheet.read_text("utf-8"))


def test_site_loads_nothing_from_other_hosts(built):
    loads = set(_loads(built))
    assert any(load.endswith(".js") for load in loads)
    assert {load for load in loads if re.match(r"(https?:)?//", load)} == set()


def test_search_index_has_every_public_name_with_its_docstring(built):
    index = json.loads((built / "search/search_index.json").read_text("utf-8"))
    texts = {entry["location"].partition("#")[2]: entry["text"] for entry in index["docs"]}
    lacking = []
    for module in reference.modules():
        for name in reference.public_names(import_module(module)):
            value = getattr(import_module(module), name)
            if callable(value) and getattr(value, "__doc__", None) and hasattr(value, "__name__"):
                lacking += [] if texts.get(f"{module}.{name}") else [f"{module}.{name}"]
    assert lacking == []


def test_docstring_examples_are_shown_as_code(built):
    page = (built / "docs/reference/python/winosmith.lineage.html").read_text("utf-8")
    assert '<span class="gp">&gt;&gt;&gt; </span>' in page
    assert "<blockquote>" not in page


def test_dead_links_fail_the_build(built, tmp_path):
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


def test_modules_imported_by_pages_are_in_the_reference():
    texts = [*PAGES.values(), *(f.read_text("utf-8") for f in ROOT.glob("examples/*.py"))]
    code = "\n".join(texts)
    imported = {f"winosmith.{name}" for name in re.findall(r"from winosmith\.(\w+) import", code)}
    for names in re.findall(r"from winosmith import ([^#\n\\]+)", code):
        imported |= {f"winosmith.{name}" for name in re.findall(r"\b[a-z]\w*", names)}
    assert imported - set(reference.modules()) == set()


def test_doctests_of_the_docs_scripts_pass():
    needed("griffe")
    found = [doctest.testmod(module) for module in (site, script("griffe_doctests"))]
    assert [one.failed for one in found] == [0, 0]
    assert all(one.attempted for one in found)
