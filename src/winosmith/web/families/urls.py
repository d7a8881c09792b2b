"""The addresses of `families`."""

from __future__ import annotations

from django.urls import path

from winosmith.web.families import views

app_name = "families"
urlpatterns = [
    path("", views.index, name="index"),
    path("board/", views.boards, name="board"),
    path("models/", views.models, name="models"),
    path("data/<str:name>", views.file, name="file"),
    path("<str:ref>/", views.family, name="family"),
    path("<str:ref>/below/<str:version>/", views.below, name="below"),
]
