"""What the commands do with a site: make it ready, serve it, save it, fill it, write it out."""

from __future__ import annotations

from winosmith.web._backup import Contents, backup, restore
from winosmith.web._export import Exported, export
from winosmith.web._import import Imported, import_problems, with_new_ids
from winosmith.web._server import address_of, claim, listen, run, workers_for
from winosmith.web._setup import first_admin_path, opened, prepare

__all__ = [
    "Contents",
    "Exported",
    "Imported",
    "address_of",
    "backup",
    "claim",
    "export",
    "first_admin_path",
    "import_problems",
    "listen",
    "opened",
    "prepare",
    "restore",
    "run",
    "with_new_ids",
    "workers_for",
]
