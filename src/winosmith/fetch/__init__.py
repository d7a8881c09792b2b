"""Where the published data sets live, and downloads that can be trusted.

Only HTTPS is used, redirects included; a download is resumed where it stopped, checked against
its SHA-256 where one is known, and takes its name only when it is complete; archives are checked
for paths and sizes before they are unpacked.
"""

from __future__ import annotations

from winosmith.fetch._download import download
from winosmith.fetch._get import Fetched, get
from winosmith.fetch._published import PUBLISHED, Published, Remote, published
from winosmith.fetch._unpack import unpack

__all__ = [
    "PUBLISHED",
    "Fetched",
    "Published",
    "Remote",
    "download",
    "get",
    "published",
    "unpack",
]
