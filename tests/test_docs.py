"""The documentation is true: links, commands, recipes, code and output."""

import doctest
import importlib.util
import inspect
import json
import re
import shlex
import subprocess
import sys
import tomllib
import types
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import ModuleType

import click
import pytest
from PIL import Image

from tests import forking
from tests.conftest import absent, need_wordnet
from winosmith import Extra, formats
from winosmith.build import FilterRecipe, Recipe, build, debias_to_folder, parse_recipe
from winosmith.cli import main
from winosmith.cli._main import group
from winosmith.errors import InputError
from winosmith.options import EmbedRecipe
from winosmith.rounds import parse_round
from winosmith.testing import make_twins
from winosmith.web import SiteRules

ROOT = Path(__file__).resolve().parents[1]


def script(name: str) -> ModuleType:
    """Import a script of the folder docs."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


outputs = script("make_outputs")
reference = script("make_reference")
schemas = script("make_schemas")
make = script("make")

PAGES = {str(page.relative_to(ROOT)): page.read_text("utf-8") for page in outputs.pages()}


def _run(text: str) -> bool:
    return any(block.language in ("console", "python") for block in outputs.blocks(text))


OTHERS = {"datasets": "^import datasets", "lm_eval": r"^\$ lm_eval", "mlcroissant": r"^\$ mlcr"}
"""Libraries that pages use besides winosmith and its extras, with patterns that show their use."""


FIRST = "docs/tutorial.md"
"""The page that a newcomer follows; README shows more, and takes longer."""


@pytest.fixture(scope="module")
def forked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return a folder with a `winosmith` command that starts quickly."""
    folder = tmp_path_factory.mktemp("bin")
    command = forking.make_command(folder)
    yield folder
    command.kill()


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=() if page == FIRST else pytest.mark.long)
        for page, text in PAGES.items()
        if _run(text)
    ],
)
def test_commands_and_code_of_pages_print_what_the_pages_show(page, tmp_path, forked):
    """README uses the installed command."""
    if re.search(r"^\$ .*--with wordnet|WordNetPerturber", PAGES[page], re.MULTILINE):
        need_wordnet()
    for module, sign in OTHERS.items():
        if re.search(sign, PAGES[page], re.MULTILINE) and not importlib.util.find_spec(module):
            absent(f"{module} is not installed")
    programs = outputs.PROGRAMS if page == "README.md" else forked
    for block, shown in outputs.run(PAGES[page], tmp_path.resolve(), page, programs):
        near = outputs.alike(block.body, shown, block.near)
        assert near, f"{page} says\n{block.body}\nbut it is\n{shown}"


@pytest.mark.parametrize("script", [outputs, make], ids=lambda script: script.__name__)
def test_examples_of_the_docs_scripts_run(script):
    found = doctest.testmod(script)
    assert (found.failed, found.attempted > 0) == (0, True)


def test_each_measured_command_draws_a_picture_of_its_page():
    """`docs/make.py --measured` finds the benchmarks of all pages with measured pictures."""
    named = {page for page, text in PAGES.items() if make._MEASURED.search(text)}
    drawn = {page for page, text in PAGES.items() if re.search(r"\]\(images/[\w-]+\.svg\)", text)}
    assert named == drawn
    for page in named:
        for command in make._MEASURED.findall(PAGES[page]):
            assert (ROOT / command.split()[0]).is_file()


_FIGURE = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")


def _figures(text: str) -> set[str]:
    return set(_FIGURE.findall(text))


def _pictured(page: str, name: str, begins: str) -> tuple[str, str]:
    """Return a picture's words, and the output of the page's command that writes the report."""
    with Image.open(ROOT / "docs" / "images" / name) as picture:
        words = picture.text["Description"]
    return words, next(
        shown
        for block in outputs.blocks(PAGES[page])
        if block.language == "console"
        for command, shown in outputs.commands(block.body)
        if command.startswith(begins)
    )


def test_audit_picture_shows_the_same_run_as_its_page():
    words, printed = _pictured("docs/how-to/audit.md", "audit.png", "winosmith audit quiz.csv")
    assert printed.partition("\n")[0] in words
    (told,) = re.findall(r"Number of keys at each position: [\d, ]+", printed)
    assert told in words


def test_readme_picture_shows_the_same_run_as_the_readme():
    words, printed = _pictured("README.md", "report.png", "winosmith demo")
    assert re.findall(r"data:\S+\|version:\S+", printed)[0] in words
    told = printed.partition("artifact\n")[2].partition("The report is in")[0]
    told = re.sub(r"Dropped by .*\n", "", told)  # the picture ends before the table of reasons
    assert len(_figures(told)) > 10
    assert _figures(told) <= _figures(words)


def _sections(text: str) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    bare = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.+)$", bare, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_every_relative_link_and_anchor_exists():
    astray = []
    for page, text in PAGES.items():
        bare = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
        for link in re.findall(r"\]\((?![a-z]+://)([^)]+)\)", bare):
            name, _, anchor = link.partition("#")
            target = (ROOT / page).parent / name if name else ROOT / page
            if not target.exists() or (
                anchor and anchor not in _sections(target.read_text("utf-8"))
            ):
                astray.append(f"{page}: {link}")
    assert astray == []


def test_pictures_are_used_and_opaque():
    """Transparent pictures would be illegible on a dark page."""
    shown = {name for text in PAGES.values() for name in re.findall(r"images/([\w.-]+)\)", text)}
    there = {path.name: path for path in (ROOT / "docs/images").iterdir()}
    assert shown == set(there)
    for path in there.values():
        if path.suffix == ".svg":
            assert re.match(r"<svg [^>]*background: #ffffff", path.read_text("utf-8")), path.name
        else:
            with Image.open(path) as picture:
                assert "A" not in picture.mode, path.name
                assert "transparency" not in picture.info, path.name


def test_files_named_by_pages_exist():
    path = re.compile(r"(?<![\w/])((?:tests|trials|benchmarks|examples)/[\w/]+(?:\.py|/(?=`)))")
    named = {(page, name) for page, text in PAGES.items() for name in path.findall(text)}
    assert len(named) > 50
    assert [(page, name) for page, name in sorted(named) if not (ROOT / name).exists()] == []


def test_readme_links_lead_to_every_page():
    reached, ahead = set(), ["README.md"]
    while ahead:
        page = ahead.pop()
        if page in reached or page not in PAGES:
            continue
        reached.add(page)
        folder = (ROOT / page).parent
        for link in re.findall(r"\]\(([^)#]+)", PAGES[page]):
            target = (folder / link).resolve()
            files = [target, *target.rglob("*.md")] if target.is_dir() else [target]
            ahead += [str(f.relative_to(ROOT)) for f in files if f.is_relative_to(ROOT)]
    assert reached == set(PAGES)


def _commands() -> Iterator[tuple[str, str]]:
    """Yield each command line with winosmith in fenced blocks, with its page."""
    for page, text in PAGES.items():
        for block in outputs.blocks(text):
            if block.language == "console":
                lines = [command for command, _ in outputs.commands(block.body)]
            elif block.language == "bash":
                lines = block.body.replace("\\\n", " ").splitlines()
            else:
                continue
            for line in lines:
                for part in re.split(r"&&|\||;|\b2>|[<>](?!=)", line.replace("\\\n", " ")):
                    if part.strip().startswith("winosmith "):
                        yield page, part.strip()


def _parse(command: click.Command, name: str, words: list[str]) -> None:
    """Parse a command line; raise click.UsageError for unknown options and values."""
    if isinstance(command, click.Group):
        words = words[sum(isinstance(each, click.Argument) for each in command.params) :]
        with click.Context(command, info_name=name, resilient_parsing=True) as ctx:
            inner = command.get_command(ctx, words[0])
        assert inner is not None, f"there is no command {words[0]}"
        _parse(inner, words[0], words[1:])
        return
    with click.Context(command, info_name=name, help_option_names=["-h", "--help"]) as ctx:
        given, left, _ = command.make_parser(ctx).parse_args(list(words))
        if "help" in given:
            return
        assert not left, f"too many arguments: {left}"
        for parameter in command.params:
            value = given.get(parameter.name)
            assert value is not None or not parameter.required, f"{parameter.name} is missing"
            if value is not None and not isinstance(parameter.type, click.Path):
                parameter.type_cast_value(ctx, value)


def test_all_commands_in_pages_are_valid():
    """Commands that the tests don't run are included."""
    unknown = []
    for page, line in sorted(set(_commands())):
        try:
            _parse(group, "winosmith", shlex.split(line, comments=True)[1:])
        except (click.UsageError, AssertionError) as error:
            unknown.append(f"{page}: {line}: {error}")
    assert unknown == []


def test_invalid_commands_are_found():
    for line in ("stats a --votes b", "debias a --out b --method magic", "build a"):
        with pytest.raises((click.UsageError, AssertionError)):
            _parse(group, "winosmith", line.split())


def test_make_targets_in_pages_exist():
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    named = {t for text in PAGES.values() for t in re.findall(r"`make ([\w-]+)`", text)}
    assert {"demo", "test"} <= named <= targets


def test_recipes_and_site_files_in_pages_are_valid(tmp_path):
    wrong = []
    for page, text in PAGES.items():
        for block in outputs.blocks(text):
            if block.language == "toml":
                try:
                    _read(block.body, tmp_path / "site.toml")
                except (InputError, AssertionError) as error:
                    wrong.append(f"{page}: {error}")
    assert wrong == []


def _read(body: str, file: Path) -> None:
    table = tomllib.loads(body)
    if {"models", "language", "mail", "proxies"} & set(table):
        file.write_text(body, "utf-8")
        assert SiteRules.read(file) != SiteRules()
    else:
        (parse_round if "solvers" in table else parse_recipe)(table)


def test_recipe_with_every_key_shows_the_defaults():
    page = PAGES["docs/reference/recipe.md"]
    shown = next(block for block in outputs.blocks(page) if block.language == "toml").body
    assert parse_recipe(tomllib.loads(shown)) == Recipe(name="mine", data="twins.jsonl")


def test_index_links_every_page_once():
    links = re.findall(r"\]\(([^)#]+\.md)", PAGES["docs/index.md"])
    here = [f"docs/{link}" for link in links if not link.startswith("../")]
    pages = {page for page in PAGES if page.startswith("docs/")} - {"docs/index.md"}
    assert sorted(here) == sorted(pages)


def test_readme_names_twenty_formats():
    assert len(formats.FORMATS) == 20
    assert "twenty formats" in PAGES["README.md"]


@pytest.mark.parametrize("page", sorted(reference.PAGES), ids=lambda page: page.name)
def test_generated_reference_pages_are_up_to_date(page):
    """A new process makes the page, because click keeps a command's help option.

    If a test has called a command without its group, the option has no "-h".
    """
    make = f"import make_reference as m; print(m.PAGES[m.Path({str(page)!r})](), end='')"
    made = subprocess.run(
        [sys.executable, "-X", "utf8", "-c", make],
        cwd=page.parents[1],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    )
    assert page.read_text("utf-8") == made.stdout, "run: python docs/make.py"


def test_public_names_have_docstrings():
    """Public methods and properties are included."""
    silent = []
    for module in map(import_module, reference.modules()):
        for name in reference.public_names(module):
            value = getattr(module, name)
            if not isinstance(value, types.FunctionType | type):
                continue
            members = vars(value).items() if isinstance(value, type) else ()
            parts = {
                f"{name}.{key}": part
                for key, part in members
                if not key.startswith("_") and isinstance(part, types.FunctionType | property)
            }
            silent += [
                f"{module.__name__}.{key}"
                for key, part in {name: value, **parts}.items()
                if not inspect.getdoc(part)
            ]
    assert silent == []


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """Return the names of the files that each command writes, from small runs."""
    folder = tmp_path_factory.mktemp("files")
    twins = [replace(p, extra=Extra({"site.row": row})) for row, p in enumerate(make_twins(60))]
    formats.write(twins, folder / "twins.jsonl")
    small = FilterRecipe("random", keep=90)
    build(Recipe("mine", str(folder / "twins.jsonl")), folder / "build")
    debias_to_folder(make_twins(60), folder / "debias", embed=EmbedRecipe(), filter_recipe=small)
    assert main(["check", str(folder / "twins.jsonl"), "--out", str(folder / "check --out")]) == 0
    assert main(["practice", "--twins", "3", "--out", str(folder / "practice")]) == 0
    return {
        made.name: {str(f.relative_to(made)) for f in made.rglob("*") if f.is_file()}
        for made in folder.iterdir()
        if made.is_dir()
    }


@pytest.mark.long
def test_reference_of_files_lists_every_written_file(written):
    page = PAGES["docs/reference/files.md"]
    for command, names in written.items():
        chapter = page.partition(f"## `winosmith {command}`\n")[2].partition("\n## ")[0]
        told = set(re.findall(r"^\| `([^`]+)` \|", chapter, re.MULTILINE))
        nested = {name for name in told if re.match(r"train_(xs|s|m|l)[.-]", name)}
        assert told - nested == names - nested, command


def test_record_in_reference_of_files_has_the_real_keys():
    page = PAGES["docs/reference/files.md"]
    shown = next(block for block in outputs.blocks(page) if block.language == "json").body
    assert {"id", "sentence", "options", "answer", "stage", "reason"} <= json.loads(shown).keys()
