"""Where the links of a version on a page lead."""

from __future__ import annotations

from urllib.parse import quote

from django.urls import reverse

from winosmith.web.families.look import Look

__all__ = ["Links"]


class Links:
    """Makes the addresses of a family's versions; one for all of a page.

    Args:
        root: the id of the root.
        look: what is looked at: the links keep it.
    """

    def __init__(self, root: str, look: Look):
        self.family = reverse("families:family", args=[root])
        self._root = root
        self._home = reverse("read:home")
        self._kept = look.query()

    def page(self, ref: str, after: int = 0) -> str:
        """Return the address of the tree around a version."""
        version = "" if ref == self._root else f"&version={quote(ref, safe='')}"
        return f"{self.family}?{self._kept}{version}{_after(after)}#tree"

    def fragment(self, ref: str, after: int = 0) -> str:
        """Return the address of what is under a version, for a page that is open."""
        return f"{self.family}below/{quote(ref, safe='')}/?{self._kept}{_after(after)}"

    def perturb(self, ref: str) -> str:
        """Return where a version is perturbed."""
        return f"{self._home}perturb/{quote(ref, safe='')}/"

    def details(self, ref: str) -> str:
        """Return the page of the problem itself."""
        return f"{self._home}problems/{quote(ref, safe='')}/"


def _after(after: int) -> str:
    return f"&after={after}" if after else ""
