"""The examples in docstrings run, and give what they say."""

from __future__ import annotations

import doctest
import importlib
import os
import pkgutil

import pytest

import winosmith

EXTRAS = ("torch", "transformers", "accelerate", "safetensors")
"""Libraries without which a module may be out of reach."""


def _fail(name: str) -> None:
    raise ImportError(f"{name} can't be imported")


def _names() -> list[str]:
    found = pkgutil.walk_packages(winosmith.__path__, "winosmith.", onerror=_fail)
    return ["winosmith", *(module.name for module in found if not module.name.endswith("__main__"))]


@pytest.mark.parametrize("name", _names())
def test_the_examples_of_a_module_run(name: str, request: pytest.FixtureRequest) -> None:
    """Each example in the module's docstrings gives what is printed below it."""
    if name.startswith("winosmith.web."):
        request.getfixturevalue("site")  # Django's modules want to know which site they serve
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name not in EXTRAS or os.environ.get("CI") == "true":
            raise
        pytest.skip(f"{error.name} is not installed")
    assert doctest.testmod(module).failed == 0
