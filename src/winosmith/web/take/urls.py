"""The addresses of `take`."""

from __future__ import annotations

from django.urls import path

from winosmith.web.take import views, views_progress, views_sheet

__all__ = ["app_name", "urlpatterns"]

app_name = "take"
urlpatterns = [
    path("", views.start, name="start"),
    path("round/<slug:name>/", views.about, name="about"),
    path("sheet/<slug:ref>/", views_sheet.sheet, name="sheet"),
    path("sheet/<slug:ref>/<int:number>/", views_sheet.question, name="question"),
    path("sheet/<slug:ref>/end/", views_sheet.end, name="end"),
    path("sheet/<slug:ref>/give-up/", views_sheet.leave, name="give_up"),
    path("progress/", views_progress.rounds, name="progress"),
    path("progress/<slug:name>/", views_progress.one, name="round"),
    path("progress/<slug:name>/count/", views_progress.count, name="count"),
]
