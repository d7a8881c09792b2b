"""The platform's area `run`: what an admin does to begin a site and to keep it going."""

from __future__ import annotations

from django.apps import AppConfig


class Config(AppConfig):
    """Names the application, and joins what is done by and by."""

    name = "winosmith.web.run"

    def ready(self) -> None:
        """Let what was interrupted go on; forget files that nobody let in."""
        from winosmith.web._background import hourly
        from winosmith.web.people.erasure import tidying
        from winosmith.web.run.deeds import forget_files, go_on

        hourly.append(go_on)
        tidying["run"] = forget_files
