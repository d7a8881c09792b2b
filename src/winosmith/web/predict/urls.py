"""The addresses of `predict`."""

from __future__ import annotations

from django.urls import URLPattern

__all__ = ["app_name", "urlpatterns"]

app_name = "predict"
urlpatterns: list[URLPattern] = []
