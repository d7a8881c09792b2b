"""The addresses of `families`."""

from __future__ import annotations

from django.urls import path

from winosmith.web.families import views, views_models

__all__ = ["app_name", "urlpatterns"]

app_name = "families"
urlpatterns = [
    path("", views.index, name="index"),
    path("board/", views.boards, name="board"),
    path("models/", views_models.models, name="models"),
    path("data/<str:name>", views_models.file, name="file"),
    path("<str:ref>/", views.family, name="family"),
    path("<str:ref>/below/<str:version>/", views.below, name="below"),
]
