"""The addresses of `take`."""

from __future__ import annotations

from django.urls import path

from winosmith.web.take import views

app_name = "take"
urlpatterns = [
    path("", views.start, name="start"),
    path("round/<slug:name>/", views.about, name="about"),
    path("sheet/<slug:ref>/", views.sheet, name="sheet"),
    path("sheet/<slug:ref>/<int:number>/", views.question, name="question"),
    path("sheet/<slug:ref>/end/", views.end, name="end"),
    path("sheet/<slug:ref>/give-up/", views.leave, name="give_up"),
    path("progress/", views.rounds, name="progress"),
    path("progress/<slug:name>/", views.one, name="round"),
    path("progress/<slug:name>/count/", views.count, name="count"),
]
