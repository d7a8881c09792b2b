"""The addresses of `perturb`."""

from __future__ import annotations

from django.urls import URLPattern, path

from winosmith.web.perturb import views

app_name = "perturb"
urlpatterns: list[URLPattern] = [
    path("", views.start, name="start"),
    path("made/<str:ref>/", views.made, name="made"),
    path("made/<str:ref>/predictions/", views.predictions, name="predictions"),
    path("<str:ref>/", views.build, name="build"),
    path("<str:ref>/check/", views.check, name="check"),
    path("<str:ref>/revise/", views.revise, name="revise"),
    path("<str:ref>/revise/check/", views.check_revision, name="check_revision"),
]
