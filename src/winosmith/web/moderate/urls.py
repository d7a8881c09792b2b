"""The addresses of `moderate`."""

from __future__ import annotations

from django.urls import path

from winosmith.web.moderate import views

app_name = "moderate"
urlpatterns = [
    path("", views.queue, name="queue"),
    path("problems/<str:ref>/", views.problem, name="problem"),
    path("ask/", views.ask, name="ask"),
    path("act/", views.act, name="act"),
    path("undo/", views.undo, name="undo"),
    path("batches/<str:mark>/", views.batch, name="batch"),
    path("batches/<str:mark>/go-on/", views.go_on, name="go_on"),
    path("contests/", views.contests, name="contests"),
    path("contests/<int:number>/settle/", views.settle, name="settle"),
    path("log/", views.log, name="log"),
    path("log.csv", views.download, name="log_csv"),
    path("people/", views.people, name="people"),
    path("agreement/", views.agreement, name="agreement"),
    path("agreement.csv", views.agreement_csv, name="agreement_csv"),
    path("people/<str:name>/", views.person, name="person"),
    path("people/<str:name>/appoint/", views.appoint, name="appoint"),
]
