"""The platform: people write twins, judge them, moderate and download, on a site of your own.

A *site* is a folder: its settings (`site.toml`), its key (`secret`), and its database. Everything
that runs Django goes through `site.activate()`, which needs the extra `web`.

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
