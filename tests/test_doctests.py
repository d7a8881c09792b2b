"""The examples in docstrings run, and give what they say."""

import doctest
import importlib
import os
import pkgutil

import pytest

import winosmith

EXTRAS = ("torch", "transformers", "safetensors")
"""Libraries without which a module may be out of reach."""


def _fail(name: str) -> None:
    raise ImportError(f"{name} can't be imported")


def _names() -> dict[str, list[str]]:
    """Return the modules of each folder; a file that stands alone is of the package itself."""
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
def test_the_examples_of_a_folder_run(folder: str, request: pytest.FixtureRequest) -> None:
    """Each example in the docstrings of a folder's modules gives what is printed below it."""
    if folder == "web":
        request.getfixturevalue("site")  # Django's modules want to know which site they serve
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
