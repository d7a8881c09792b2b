"""The files of a release: the wheel, the source distribution, and the project's page."""

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from tests.conftest import installed

ROOT = Path(__file__).resolve().parents[1]

HOME = "https://example.org/us/winosmith"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the wheel and the source distribution, built offline."""
    installed("hatchling")
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", folder],
        cwd=ROOT,
        env=os.environ | {"WINOSMITH_REPOSITORY": HOME},
        capture_output=True,
        check=True,
    )
    return folder


def _files() -> set[str]:
    """Return the package's files, without those that are created when it runs."""
    source = ROOT / "src"
    every = (path for path in source.rglob("*") if path.is_file())
    return {p.relative_to(source).as_posix() for p in every if "__pycache__" not in p.parts}


def test_wheel_contains_only_the_package_and_metadata(built):
    """Templates, data, `py.typed` and the licence are included; tests are not."""
    (path,) = built.glob("*.whl")
    with zipfile.ZipFile(path) as wheel:
        names = set(wheel.namelist())
        (entry,) = (wheel.read(n).decode() for n in names if n.endswith("entry_points.txt"))
    own = {name for name in names if ".dist-info/" not in name}
    assert own == _files()
    assert {"winosmith/py.typed", "winosmith/fetch.toml", "winosmith/topics.jsonl"} <= own
    assert any(name.endswith(".html") for name in own)
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
    assert "winosmith = winosmith.cli:main" in entry


def test_source_distribution_has_exactly_what_a_build_needs(built):
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    inside = {name.removeprefix("src/") for name in names if name.startswith("src/")}
    assert inside == _files()
    assert {name for name in names if not name.startswith("src/")} == set(
        "CHANGELOG.md CITATION.cff LICENSE PKG-INFO README.md hatch_build.py pyproject.toml "
        ".gitignore".split()
    )


def test_links_of_the_project_page_are_absolute(built):
    """They lead to files at the version's tag; `?raw=true` shows pictures."""
    (path,) = built.glob("*.whl")
    with zipfile.ZipFile(path) as wheel:
        (name,) = (name for name in wheel.namelist() if name.endswith("/METADATA"))
        page = Parser().parsestr(wheel.read(name).decode())
    assert page["Description-Content-Type"] == "text/markdown"
    text = str(page.get_payload())
    base = f"{HOME}/blob/v{page['Version']}/"
    links = re.findall(r"(!?)\[[^\]]*\]\(([^)]+)\)", text)
    ours = [(mark, link.removeprefix(base)) for mark, link in links if link.startswith(base)]
    assert all(link.startswith(("https://", "#")) for _, link in links)
    assert len(ours) > 20
    for mark, link in ours:
        assert link.endswith("?raw=true") == bool(mark)
        assert (ROOT / link.removesuffix("?raw=true").partition("#")[0]).exists(), link
    urls = dict(url.split(", ") for url in page.get_all("Project-URL", []))
    assert urls["Source"] == HOME


def test_page_without_a_repository_has_no_relative_links(monkeypatch):
    installed("hatchling")
    monkeypatch.syspath_prepend(str(ROOT))
    from hatch_build import absolute

    text = "![a [b] c](docs/x.png) See [the *list*](docs/y.md#z) and [it](https://a.org)."
    assert absolute(text, None) == " See the *list* and [it](https://a.org)."
    assert absolute(text, "h").startswith("![a [b] c](h/docs/x.png?raw=true) See [the *list*](h/")


@pytest.mark.parametrize(
    ("words", "message"),
    [([], "address of the repository"), (["http://a/b"], "address"), ([HOME], "TWINE_PASSWORD")],
)
def test_publishing_without_address_or_token_is_refused(words, message):
    """The script ends before it builds anything."""
    environment = {name: of for name, of in os.environ.items() if not name.startswith("TWINE_")}
    done = subprocess.run(
        [ROOT / "scripts/publish", *words],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
