"""The addresses of `take`."""

from __future__ import annotations

from django.urls import URLPattern

__all__ = ["app_name", "urlpatterns"]

app_name = "take"
urlpatterns: list[URLPattern] = []
