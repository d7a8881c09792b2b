"""The addresses of `write`."""

from __future__ import annotations

from django.urls import URLPattern

__all__ = ["app_name", "urlpatterns"]

app_name = "write"
urlpatterns: list[URLPattern] = []
