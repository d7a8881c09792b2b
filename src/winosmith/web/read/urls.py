"""The addresses of reading."""

from __future__ import annotations

from django.urls import path

from winosmith.web.read import downloads, views

app_name = "read"
urlpatterns = [
    path("", views.home, name="home"),
    path("problems/", views.browse, name="browse"),
    path("problems/<str:ref>/", views.problem, name="problem"),
    path("download/", downloads.index, name="download"),
    path("download/<str:name>", downloads.file, name="file"),
    path("guidelines/", views.guidelines, name="guidelines"),
    path("card/", views.card, name="card"),
    path("card/data-card.md", views.card_text, name="card_text"),
]
