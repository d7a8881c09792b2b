"""What all tests share: where the published data are, and what a skip means in CI."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

IN_CI = os.environ.get("CI") == "true"


def absent(reason: str) -> None:
    """Skip for a missing component or missing data; with CI=true, fail instead."""
    if IN_CI:
        pytest.fail(f"missing in CI: {reason}")
    pytest.skip(reason)


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Return the folder of the published data sets, from WINOSMITH_DATA alone."""
    folder = os.environ.get("WINOSMITH_DATA")
    if not folder or not Path(folder).is_dir():
        absent("WINOSMITH_DATA does not name the folder of the published data sets")
    return Path(str(folder))


@pytest.fixture(scope="session")
def chromium_path() -> str:
    """Return the path of an installed Chromium."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if not found:
        absent("Chromium is not installed")
    return str(found)
