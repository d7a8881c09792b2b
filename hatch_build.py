"""The project's page on a package index: README, with links that work anywhere."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!https?://|#)([^)]+)\)")


def absolute(text: str, base: str | None) -> str:
    """Return a page of Markdown without relative links.

    Args:
        text: the page.
        base: the address of the folder that relative links start from; None turns them into text,
            and omits pictures.
    """

    def link(found: re.Match[str]) -> str:
        mark, words, path = found.groups()
        if base is None:
            return "" if mark else words
        return f"{mark}[{words}]({base}/{path}{'?raw=true' * bool(mark)})"

    return _LINK.sub(link, text)


class CustomMetadataHook(MetadataHookInterface):
    """Set the long description and the links of the project.

    WINOSMITH_REPOSITORY is the address of the repository, such as https://github.com/OWNER/NAME;
    `scripts/publish` sets it. Without it, the page has no relative links.
    """

    def update(self, metadata: dict[str, Any]) -> None:
        """Add `readme` and `urls`."""
        repository = os.environ.get("WINOSMITH_REPOSITORY")
        source = (Path(self.root) / "src/winosmith/_version.py").read_text("utf-8")
        (version,) = re.findall(r'^__version__ = "(.*)"$', source, re.MULTILINE)
        base = f"{repository}/blob/v{version}" if repository else None
        text = absolute((Path(self.root) / "README.md").read_text("utf-8"), base)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
        if repository:
            metadata["urls"] = {
                "Source": repository,
                "Documentation": f"{base}/docs/index.md",
                "Changelog": f"{base}/CHANGELOG.md",
            }
