"""The addresses of `market`."""

from __future__ import annotations

from django.urls import path

from winosmith.web.market import views

app_name = "market"
urlpatterns = [
    path("", views.work, name="work"),
    path("welcome/", views.welcome, name="welcome"),
    path("finish/", views.end_it, name="finish"),
    path("leave/", views.give_up, name="leave"),
    path("ledger/", views.studies, name="studies"),
    path("ledger/<slug:name>/", views.one, name="ledger"),
    path("ledger/<slug:name>/ledger.csv", views.table, name="table"),
    path("<str:token>/", views.enter, name="enter"),
    path("<str:token>/frame/", views.frame, name="frame"),
]
