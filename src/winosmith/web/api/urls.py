"""The addresses of the API: one door for each version, its description, and a page about it."""

from __future__ import annotations

from django.urls import path

from winosmith.web.api import views

app_name = "api"
urlpatterns = [
    path("", views.index, name="index"),
    path("openapi.json", views.description, name="openapi"),
    path("v1/<path:rest>", views.door, name="v1"),
]
