"""The addresses of `write`."""

from __future__ import annotations

from django.urls import URLPattern, path

from winosmith.web.write import mine, views

app_name = "write"
urlpatterns: list[URLPattern] = [
    path("", views.start, name="start"),
    path("mine/", mine.twins, name="mine"),
    path("mine/<slug:ref>/", mine.twin, name="twin"),
    path("mine/<slug:ref>/withdraw/", mine.withdraw, name="withdraw"),
    path("mine/<slug:ref>/revise/", mine.revise, name="revise"),
    path("mine/<slug:ref>/appeal/", mine.appeal, name="appeal"),
    path("<slug:ref>/", views.draft, name="draft"),
    path("<slug:ref>/check/", views.check, name="check"),
    path("<slug:ref>/save/", views.save, name="save"),
    path("<slug:ref>/discard/", views.discard, name="discard"),
]
