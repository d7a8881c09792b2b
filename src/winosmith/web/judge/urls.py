"""The addresses of `judge`."""

from __future__ import annotations

from django.urls import path

from winosmith.web.judge import views

app_name = "judge"
urlpatterns = [
    path("", views.turn, name="turn"),
    path("next/", views.take, name="next"),
    path("local/", views.local, name="local"),
    path("answer/", views.whole, name="answer"),
    path("skip/", views.pass_on, name="skip"),
    path("undo/", views.take_back, name="undo"),
    path("checked/<str:ref>/", views.checked, name="checked"),
    path("contest/<str:ref>/", views.contest, name="contest"),
    path("agreement/", views.agreement, name="agreement"),
]
