"""The addresses of `predict`."""

from __future__ import annotations

from django.urls import path

from winosmith.web.predict import views

app_name = "predict"
urlpatterns = [
    path("", views.models, name="models"),
    path("<slug:name>/", views.model, name="model"),
    path("<slug:name>/again/", views.try_again, name="again"),
]
