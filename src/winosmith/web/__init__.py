"""The platform: a site of your own, on which people write, judge, moderate and download twins.

A *site* is a folder with its settings (`site.toml`), its key (`secret`), and its database. Code
that runs Django calls `site.activate()` first, which needs the `web` extra.

>>> import tempfile
>>> from winosmith.web import Site
>>> site = Site.open(tempfile.mkdtemp())
>>> site.rules.judges, site.database.name
(3, 'site.sqlite3')
"""

from __future__ import annotations

from winosmith.web._rules import SiteRules
from winosmith.web._site import Site

__all__ = ["Site", "SiteRules"]
