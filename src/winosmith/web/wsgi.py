"""The door for WSGI servers: `gunicorn winosmith.web.wsgi`, with `Site.environment()` set."""

from __future__ import annotations

from django.core.wsgi import get_wsgi_application

__all__ = ["application"]

application = get_wsgi_application()
