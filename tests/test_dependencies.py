"""The lower bounds of pyproject.toml exclude versions with published vulnerabilities."""

import re
import tomllib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

FIXED = {
    "cryptography": ("48.0.1", "GHSA-537c-gmf6-5ccf"),
    "distributed": ("2026.1.0", "CVE-2026-23528"),
    "django": ("5.2.16", "CVE-2026-53877"),
    "filelock": ("3.20.3", "CVE-2026-22701"),
    "fonttools": ("4.60.2", "CVE-2025-66034"),
    "jinja2": ("3.1.6", "CVE-2025-27516"),
    "nltk": ("3.10.4", "GHSA-8mgp-746c-j5xp"),
    "numpy": ("1.22", "CVE-2021-41496"),
    "pillow": ("12.3", "CVE-2026-59200"),
    "pyarrow": ("23.0.1", "CVE-2026-25087"),
    "pydantic": ("2.4.0", "CVE-2024-3772"),
    "requests": ("2.33.0", "CVE-2026-25645"),
    "scipy": ("1.10.0", "CVE-2023-25399"),
    "sqlparse": ("0.5.4", "GHSA-27jp-wm6q-gp25"),
    "torch": ("2.10", "CVE-2026-24747"),
    "tornado": ("6.5.5", "CVE-2026-31958"),
    "transformers": ("5.5", "CVE-2026-5241"),
    "urllib3": ("2.6.3", "CVE-2026-21441"),
    "waitress": ("3.0.1", "CVE-2024-49768"),
}
"""The first version of each package without a published vulnerability, and the last advisory."""

USERS = {"models", "chat", "cluster", "language", "stability", "print", "release", "inspect", "web"}
USERS |= {"hub", "lm-eval", "pandas", "postgres", "xlsx", "yaml", "zstd"}
"""The extras that are not for developing."""


def _requirements() -> Iterator[Requirement]:
    """Yield the requirements of users' installations."""
    extras = PROJECT["optional-dependencies"]
    for listed in [PROJECT["dependencies"], *(extras[name] for name in sorted(USERS))]:
        yield from map(Requirement, listed)


def _lowest(requirement: Requirement) -> str:
    """Return the lowest version that a requirement allows."""
    (lowest,) = [one.version for one in requirement.specifier if one.operator == ">="]
    return str(lowest)


def test_every_extra_is_covered_by_these_tests():
    others = {name for name in PROJECT["optional-dependencies"] if not name.startswith("test")}
    assert others == {*USERS, "dev", "docs"}


@pytest.mark.parametrize("requirement", [*_requirements()], ids=lambda one: one.name)
def test_lower_bounds_exclude_known_vulnerabilities(requirement):
    fixed, advisory = FIXED.get(canonicalize_name(requirement.name), ("0", ""))
    assert Version(_lowest(requirement)) >= Version(fixed), advisory


def test_all_advisories_are_for_dependencies():
    assert {*FIXED} <= {canonicalize_name(one.name) for one in _requirements()}


def test_lowest_constraints_are_the_lower_bounds():
    lines = (ROOT / "constraints-lowest.txt").read_text("utf-8").splitlines()
    pinned = dict(line.split("==") for line in lines if not line.startswith("#"))
    bounds = {one: _lowest(one) for one in map(Requirement, PROJECT["dependencies"])}
    assert {one.name: Version(pinned[one.name]) for one in bounds} == {
        one.name: Version(lowest) for one, lowest in bounds.items()
    }


def test_readme_names_packages_with_copyleft_licences():
    readme = (ROOT / "README.md").read_text("utf-8")
    found = set()
    for requirement in _requirements():
        try:
            about = metadata(requirement.name)
        except PackageNotFoundError:
            continue
        stated = f"{about.get('License-Expression')} {about.get('License')}"[:200]
        if re.search(r"GPL|MPL|EPL|Mozilla", stated):
            found.add(requirement.name.partition("[")[0])
    assert {name for name in found if f"{name} (" not in readme} == set()
    assert "HanTa" in found or "psycopg" in found
