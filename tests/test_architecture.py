"""The layers of ARCHITECTURE.md, the limits on size, and a fast import."""

import ast
import re
import subprocess
import symtable
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import winosmith

PACKAGE = Path(winosmith.__file__).parent

TABLE = Path(__file__).parents[1].joinpath("ARCHITECTURE.md").read_text("utf-8")

FLOORS, WEB_FLOORS = (
    tuple(
        frozenset(re.findall(r"`(\w+)`", where))
        for where in re.findall(r"^\| \d \|.*\|(.*)\|$", table, re.MULTILINE)
    )
    for table in TABLE.split("| floor of ")
)
"""The folders and modules in each layer, from the lowest, by ARCHITECTURE.md's two tables."""

ROWS_ABOVE = {"problems": {"predict.Model"}}
"""Tables of higher layers to which an area's tables may refer.

One is the model that a version should fool.
"""

TESTING = "testing"
"""The module outside the layers; it may import layers 0 to 2."""

GROUND_LIBRARIES = {"numpy", "rapidfuzz"}
"""Libraries outside the standard library that layer 0 may import."""

FOR_ONE_MODULE = {
    "parallel": {"scipy", "threadpoolctl"},
    "fetch": {"pooch", "requests"},
    "lookalikes": {"scipy"},
    "options": {"pydantic"},
}
"""Libraries that only one module of layer 0 may import:

for threads of BLAS, downloads, sparse matrices and validation.
"""

HEAVY = """numpy scipy sklearn numba llvmlite threadpoolctl torch transformers safetensors
matplotlib rich pandas jinja2 pooch pydantic requests""".split()


def _floor(place: str) -> int:
    """Return the number of a layer; modules such as `_version` are in layer 0."""
    if place.startswith("_"):
        return 0
    return next(number for number, names in enumerate(FLOORS) if place in names)


def _may_import(place: str, other: str) -> bool:
    """Return whether a module or folder may import another."""
    if place == other or place in ("__init__", "__main__"):
        return True
    if other == TESTING:
        return False
    if place == TESTING:
        return _floor(other) <= 2
    if _floor(place) == _floor(other):
        readers = {"answers": {"formats"}, "metrics": {"formats", "answers"}}
        shared = {"report", "results"} | readers.get(place, set())
        return _floor(place) == 0 or (_floor(place) == 2 and other in shared)
    return _floor(other) < _floor(place)


@cache
def _imports(source: str) -> list[str]:
    """Return the full names of a module's imports, including those inside functions."""
    found: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "imports are absolute"
            found += (f"{node.module}.{alias.name}" for alias in node.names)
    return found


def _faults(module: str, source: str) -> list[str]:
    """Return the forbidden imports of a module, given by its path ("cli/check.py")."""
    place = module.removesuffix(".py").split("/")[0]
    faults = []
    for name in _imports(source):
        first, *rest = name.split(".")
        if first in sys.stdlib_module_names:
            continue
        if first == "winosmith" and rest:
            other, *inside = rest
            is_folder = (PACKAGE / other).is_dir()
            if not is_folder and not (PACKAGE / f"{other}.py").exists():
                continue  # a name that winosmith/__init__.py exports
            if not _may_import(place, other):
                faults.append(f"{module} imports {name} from a floor that it may not see")
            if is_folder and place != other and inside and inside[0].startswith("_"):
                faults.append(f"{module} imports {name}, which is private")
        elif place in FLOORS[0] and first not in GROUND_LIBRARIES | FOR_ONE_MODULE.get(
            place, set()
        ):
            faults.append(f"{module} imports {first}, which floor 0 does without")
    return faults


def _listed(tree: ast.Module) -> Iterator[set[str]]:
    """Yield the names in the module's `__all__`, if it has one."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            yield set(ast.literal_eval(node.value))


def _aliases(tree: ast.Module) -> Iterator[ast.alias]:
    """Yield the names that a module imports at its top."""
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            yield from node.names


def _web_floor(place: str) -> int:
    """Return the number of a platform layer; the package itself is in the lowest layer."""
    if place == "__init__":
        return 0
    return next(number for number, names in enumerate(WEB_FLOORS) if place in names)


def _web_faults(module: str, source: str) -> list[str]:
    """Return the forbidden imports of an area of the platform, given by its path.

    Modules of the lowest layer and of hosting may import each other.
    """
    place = module.removesuffix(".py").split("/")[0]
    floor, faults = _web_floor(place), []
    for name in _imports(source):
        if not name.startswith("winosmith.web."):
            continue
        other = name.split(".")[2]
        if not (PACKAGE / "web" / other).is_dir() and not (PACKAGE / f"web/{other}.py").exists():
            other = "__init__"  # a name that the package exports
        highest = floor if floor in (0, len(WEB_FLOORS) - 1) else floor - 1
        if other != place and _web_floor(other) > highest:
            faults.append(f"{module} imports {name} from a floor that it may not see")
    tables = [(area, label) for area, label in _tables(source) if area != place]
    allowed = ROWS_ABOVE.get(place, set())
    return faults + [
        f"{module} names the table {label}, which stands above"
        for area, label in tables
        if label not in allowed and _web_floor(area) >= floor
    ]


def _tables(source: str) -> Iterator[tuple[str, str]]:
    """Yield the models to which a module refers by name ("judge.Slot"), with their areas."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and re.search(r"(ForeignKey|Field)$", ast.unparse(node.func)):
            to = node.args[0] if node.args else None
            if isinstance(to, ast.Constant) and re.fullmatch(r"\w+\.[A-Z]\w+", str(to.value)):
                yield str(to.value).split(".")[0], str(to.value)


MODULES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))


def test_modules_import_only_from_their_own_layer_and_below():
    """Private modules of other folders are not imported either."""
    faults = (_faults(module, (PACKAGE / module).read_text("utf-8")) for module in MODULES)
    assert [fault for found in faults for fault in found] == []


WEB = [module.removeprefix("web/") for module in MODULES if module.startswith("web/")]


def test_platform_areas_import_only_from_lower_layers():
    faults = (_web_faults(name, (PACKAGE / "web" / name).read_text("utf-8")) for name in WEB)
    assert [fault for found in faults for fault in found] == []


def test_each_part_of_the_platform_is_in_one_layer():
    places = {module.removesuffix(".py").split("/")[0] for module in WEB} - {"__init__"}
    assert sorted(place for floor in WEB_FLOORS for place in floor) == sorted(places)


def test_areas_are_loaded_from_the_lowest_layer_up():
    """Areas add to lists of lower areas in this order."""
    settings = (PACKAGE / "web/settings.py").read_text("utf-8")
    areas = re.findall(r'^    "winosmith\.web\.(\w+)(?:\.Config)?",$', settings, re.MULTILINE)
    assert areas == sorted(areas, key=_web_floor)
    assert set(areas) == {path.parent.name for path in PACKAGE.glob("web/*/__init__.py")}


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("judge/x.py", "def f():\n    from winosmith.web.take.models import Sitting"),
        ("people/x.py", "if TYPE_CHECKING:\n    from winosmith.web.problems.models import Twin"),
        ("take/x.py", "from winosmith.web.market import workers"),
        ("_lock.py", "import winosmith.web.people.models"),
        ("problems/models.py", "row = models.ForeignKey('judge.Slot', models.CASCADE)"),
    ],
)
def test_forbidden_imports_between_areas_are_found(module, source):
    assert len(_web_faults(module, source)) == 1


def test_each_folder_and_module_is_in_a_layer():
    places = {module.removesuffix(".py").split("/")[0] for module in MODULES}
    homeless = places - frozenset().union(*FLOORS)
    assert {place for place in homeless if not place.startswith("_")} == {TESTING}


def test_the_map_names_what_is_there():
    """Each private module and each area of the site that ARCHITECTURE.md names is there."""
    stems = {part.removesuffix(".py") for module in MODULES for part in module.split("/")}
    named = re.findall(r"(?<!\w)_[a-z]\w*", TABLE)
    areas = re.findall(r"^(\w+) {3,}\S", TABLE.partition("## The platform")[2], re.MULTILINE)
    assert len(named) > 30
    assert len(areas) > 10
    assert [name for name in {*named, *areas} if name not in stems | {"locale"}] == []


def test_only_modules_that_re_export_names_have_all():
    listing = {
        module: ast.parse((PACKAGE / module).read_text("utf-8"))
        for module in MODULES
        if not module.endswith("__init__.py")
    }
    needless = [
        module
        for module, tree in listing.items()
        for names in _listed(tree)
        if not names & {alias.asname or alias.name for alias in _aliases(tree)}
    ]
    assert needless == []


def test_architecture_table_has_nine_layers():
    assert [len(FLOORS), "formats" in FLOORS[2], FLOORS[-1]] == [9, True, {"cli"}]


@pytest.mark.parametrize(
    ("module", "source", "count"),
    [
        ("text.py", "import torch", 1),
        ("dataset.py", "from winosmith.formats import read", 1),
        ("formats/_x.py", "from winosmith import validate", 1),
        ("validate/_x.py", "def f():\n    from winosmith.metrics import find_leaks", 1),
        ("embed/_x.py", "import winosmith.debias", 1),
        ("debias/_x.py", "from winosmith.build import build", 1),
        ("debias/_x.py", "from winosmith.report._svg import Svg", 1),
        ("cli/x.py", "from winosmith.debias._aflite import aflite", 1),
        ("cli/x.py", "from winosmith.testing import make_twins", 1),
        ("testing.py", "from winosmith.embed import Embedder", 1),
        ("validate/_x.py", "from winosmith.report import signature_of", 0),
        ("validate/_x.py", "from winosmith.validate._votes import filter_by_votes", 0),
        (
            "embed/_x.py",
            "def f():\n    import torch\n    from winosmith.models import load_encoder",
            0,
        ),
        ("build/_x.py", "from winosmith import Dataset, debias, embed, formats", 0),
        ("cli/x.py", "import click", 0),
    ],
)
def test_only_forbidden_imports_are_found(module, source, count):
    """These are imports from higher layers, from siblings and from private modules."""
    assert len(_faults(module, source)) == count


ROOT = Path(__file__).parents[1]

IMPORT = re.compile(r"from (winosmith[\w.]*) import (\([^)]*\)|[\w, ]+)|import (winosmith[\w.]+)")
"""Pattern of an import, also in a string that another process runs and in the docs."""


@cache
def _bound(module: str) -> set[str] | None:
    """Return the names that a module defines at its top, or None without such a module."""
    path = PACKAGE.parent.joinpath(*module.split("."))
    files = [file for file in (path / "__init__.py", path.with_suffix(".py")) if file.exists()]
    if not files:
        return None
    table = symtable.symtable(files[0].read_text("utf-8"), module, "exec")
    return {s.get_name() for s in table.get_symbols() if s.is_assigned() or s.is_imported()}


def _lacking(source: str) -> list[str]:
    """Return the missing modules and names of winosmith that a text imports."""
    found = []
    for module, names, alone in IMPORT.findall(source):
        bound = _bound(alone or module)
        if bound is None:
            found.append(alone or module)
        for name in re.findall(r"(\w+)(?: as \w+)?", re.sub(r"#.*", "", names)):
            if bound is not None and name not in bound and _bound(f"{module}.{name}") is None:
                found.append(f"{module}.{name}")
    return found


def test_all_imports_from_winosmith_exist():
    """Strings with code and the docs are included."""
    files = [
        file
        for folder in ("src", "tests", "trials", "benchmarks", "examples", "docs")
        for kind in ("*.py", "*.md")
        for file in ROOT.joinpath(folder).rglob(kind)
    ]
    lacking = {
        str(file.relative_to(ROOT)): _lacking(file.read_text("utf-8"))
        for file in (*files, ROOT / "README.md")
    }
    assert {file: names for file, names in lacking.items() if names} == {}


@pytest.mark.parametrize(
    "source",
    [
        "from winosmith.web." + "judging import votes",
        "def f():\n    from winosmith.web.judge.votes import open_all_slots, " + "no_votes",
        "import winosmith." + "twins",
        "run(['-c', 'from winosmith.text " + "import no_words'])",
    ],
)
def test_imports_of_missing_modules_and_names_are_found(source):
    assert len(_lacking(source)) == 1


def _importers() -> dict[str, set[str]]:
    """Return a mapping from each module to the modules that import it, by path."""
    paths = {f"winosmith.{m.removesuffix('.py').replace('/', '.')}": m for m in MODULES}
    found: dict[str, set[str]] = {module: set() for module in MODULES}
    for module in MODULES:
        for name in _imports((PACKAGE / module).read_text("utf-8")):
            for known in (name, name.rpartition(".")[0]):
                if known in paths and paths[known] != module:
                    found[paths[known]].add(module)
    return found


SIBLINGS = ("data", "formats", "answers", "cli", "web/api")
"""Folders with one file per container, format, source, command or part of the API."""

OF_DJANGO = ("models", "views", "urls", "admin")


def _of_one() -> list[str]:
    """Return the modules that only one neighbouring module imports."""
    found = []
    for module, importers in _importers().items():
        folder, _, name = module.removesuffix(".py").rpartition("/")
        apart = folder in SIBLINGS or name in (*OF_DJANGO, "__init__")
        if not apart and len(importers) == 1:
            importer = next(iter(importers)).removesuffix(".py").rpartition("/")
            found += [module] * (importer[0] == folder and importer[2] != "__init__")
    return found


LIMITS = {
    "files": 352,
    "lines": 97_587,
    "folders": 38,
    "lines of imports": 6_239,
    "modules that one module beside them imports and no other": 5,
}
"""Limits on the current size, without migrations.

Raising a limit needs a decision page (27 for modules that one module imports; 29, 32 and 35 for the
others).
"""


def _size() -> dict[str, float]:
    """Return the values that LIMITS applies to."""
    own = [module for module in MODULES if "migrations" not in module.split("/")]
    texts = [(PACKAGE / module).read_text("utf-8") for module in own]
    lines = sum(text.count("\n") for text in texts)
    imports = sum(
        (node.end_lineno or node.lineno) - node.lineno + 1
        for text in texts
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import | ast.ImportFrom)
    )
    folders = len({Path(module).parent for module in own})
    found = (len(own), lines, folders, imports, len(_of_one()))
    return dict(zip(LIMITS, found, strict=True))


def test_size_is_within_its_limits():
    assert {name: is_ for name, is_ in _size().items() if is_ > LIMITS[name]} == {}


def _loaded(*arguments: str) -> set[str]:
    """Return the heavy libraries that a new interpreter has loaded after running some code."""
    report = "import atexit, sys; atexit.register(lambda: print('LOADED', *sys.modules))\n"
    done = subprocess.run(
        [sys.executable, "-c", report + arguments[0], *arguments[1:]],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = done.stdout.split("LOADED", 1)[1].split()
    return {name for name in HEAVY if name in loaded}


def test_importing_winosmith_loads_no_heavy_library():
    assert _loaded("import winosmith") == set()


def test_importing_engines_loads_only_numpy_and_pydantic():
    """Filters, embedders and models load other libraries when they compute."""
    known = "import winosmith.debias, winosmith.embed, winosmith.models"
    assert _loaded(known) == {"numpy", "pydantic"}


@pytest.mark.parametrize("arguments", ["--help", "--version", "humans --help", "admin --help"])
def test_help_and_version_load_no_heavy_library(arguments):
    run = "from winosmith.cli import main; sys.exit(main(sys.argv[1:]))"
    assert _loaded(run, *arguments.split()) == set()


def test_loaded_heavy_libraries_are_found():
    assert _loaded("import numpy") == {"numpy"}


if __name__ == "__main__":
    for name, is_ in _size().items():
        print(f"{name}: {is_:,} of at most {LIMITS[name]:,}")
