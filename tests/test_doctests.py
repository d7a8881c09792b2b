"""The examples in docstrings run and give the shown results."""

import doctest
import importlib
import os
import pkgutil

import pytest

import winosmith

EXTRAS = ("torch", "transformers", "safetensors")
"""Optional libraries; modules that need them can't be imported without them."""


def _fail(name: str) -> None:
    raise ImportError(f"{name} can't be imported")


def _names() -> dict[str, list[str]]:
    """Return the modules of each folder; top-level files belong to the package itself."""
    found = pkgutil.walk_packages(winosmith.__path__, "winosmith.", onerror=_fail)
    folders = {"winosmith": ["winosmith"]}
    for module in found:
        parts = module.name.split(".")
        folder = parts[1] if module.ispkg or len(parts) > 2 else "winosmith"
        if parts[-1] != "__main__":
            folders.setdefault(folder, []).append(module.name)
    return folders


FOLDERS = _names()


@pytest.mark.parametrize("folder", FOLDERS)
def test_doctests_of_a_folder_pass(folder, request):
    if folder == "web":
        request.getfixturevalue("site")  # Django's modules need a configured site
    failed, lacking = [], set()
    for name in FOLDERS[folder]:
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name not in EXTRAS or os.environ.get("CI") == "true":
                raise
            lacking.add(error.name)
        else:
            failed += [name] if doctest.testmod(module).failed else []
    assert failed == []
    if lacking:
        pytest.skip(f"not installed: {', '.join(sorted(lacking))}")
