"""The addresses of `market`."""

from __future__ import annotations

from django.urls import path

from winosmith.web.market import views, views_entry, views_ledger

__all__ = ["app_name", "urlpatterns"]

app_name = "market"
urlpatterns = [
    path("", views.work, name="work"),
    path("welcome/", views_entry.welcome, name="welcome"),
    path("finish/", views.end_it, name="finish"),
    path("leave/", views.give_up, name="leave"),
    path("ledger/", views_ledger.studies, name="studies"),
    path("ledger/<slug:name>/", views_ledger.one, name="ledger"),
    path("ledger/<slug:name>/ledger.csv", views_ledger.table, name="table"),
    path("<str:token>/", views_entry.enter, name="enter"),
    path("<str:token>/frame/", views_entry.frame, name="frame"),
]
