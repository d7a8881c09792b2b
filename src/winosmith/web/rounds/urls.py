"""The addresses of `rounds`."""

from __future__ import annotations

from django.urls import path

from winosmith.web.rounds import views

app_name = "rounds"
urlpatterns = [
    path("", views.index, name="index"),
    path("mine/", views.mine, name="mine"),
    path("round/<slug:name>/", views.one, name="one"),
    path("round/<slug:name>/progress/", views.progress, name="progress"),
    path("round/<slug:name>/publish/", views.publish, name="publish"),
    path("round/<slug:name>/report/", views.page, name="report"),
    path("round/<slug:name>/build-report/", views.build_page, name="build_report"),
    path("round/<slug:name>/<str:which>", views.file, name="file"),
]
