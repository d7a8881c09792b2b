"""The addresses of `predict`."""

from __future__ import annotations

from django.urls import path

from winosmith.web.predict import views

__all__ = ["app_name", "urlpatterns"]

app_name = "predict"
urlpatterns = [
    path("", views.models, name="models"),
    path("<slug:name>/", views.model, name="model"),
    path("<slug:name>/again/", views.try_again, name="again"),
]
