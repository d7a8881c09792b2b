"""The addresses of the site, an area each."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path

from winosmith.web import pages

handler500 = "winosmith.web.pages.failed"

urlpatterns = [
    path("", include("winosmith.web.read.urls")),
    path("language/", pages.choose_language, name="language"),
    path("people/", include("winosmith.web.people.urls")),
    path("write/", include("winosmith.web.write.urls")),
    path("judge/", include("winosmith.web.judge.urls")),
    path("perturb/", include("winosmith.web.perturb.urls")),
    path("models/", include("winosmith.web.predict.urls")),
    path("families/", include("winosmith.web.families.urls")),
    path("tests/", include("winosmith.web.take.urls")),
    path("rounds/", include("winosmith.web.rounds.urls")),
    path("api/", include("winosmith.web.api.urls")),
    path("tokens/", include("winosmith.web.api.urls_tokens")),
    path("study/", include("winosmith.web.market.urls")),
    path("moderate/", include("winosmith.web.moderate.urls")),
    path("admin/", admin.site.urls),
]
