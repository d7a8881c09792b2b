"""The addresses of `perturb`."""

from __future__ import annotations

from django.urls import URLPattern

__all__ = ["app_name", "urlpatterns"]

app_name = "perturb"
urlpatterns: list[URLPattern] = []
