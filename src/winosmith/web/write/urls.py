"""The addresses of `write`."""

from __future__ import annotations

from django.urls import URLPattern, path

from winosmith.web.write import views

app_name = "write"
urlpatterns: list[URLPattern] = [
    path("", views.start, name="start"),
    path("mine/", views.twins, name="mine"),
    path("mine/<slug:ref>/", views.twin, name="twin"),
    path("mine/<slug:ref>/withdraw/", views.withdraw, name="withdraw"),
    path("mine/<slug:ref>/revise/", views.revise, name="revise"),
    path("mine/<slug:ref>/appeal/", views.appeal, name="appeal"),
    path("<slug:ref>/", views.draft, name="draft"),
    path("<slug:ref>/check/", views.check, name="check"),
    path("<slug:ref>/save/", views.save, name="save"),
    path("<slug:ref>/discard/", views.discard, name="discard"),
]
