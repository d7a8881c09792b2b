"""The addresses of the site, an area each."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path

__all__ = ["handler500", "urlpatterns"]

handler500 = "winosmith.web.failing.failed"

urlpatterns = [
    path("", include("winosmith.web.read.urls")),
    path("people/", include("winosmith.web.people.urls")),
    path("write/", include("winosmith.web.write.urls")),
    path("judge/", include("winosmith.web.judge.urls")),
    path("moderate/", include("winosmith.web.moderate.urls")),
    path("admin/", admin.site.urls),
]
