"""The addresses of one's tokens."""

from __future__ import annotations

from django.urls import path

from winosmith.web.api import views

app_name = "tokens"
urlpatterns = [
    path("", views.tokens, name="mine"),
    path("<int:number>/revoke/", views.revoke, name="revoke"),
    path("revoke/", views.revoke_all, name="revoke_all"),
]
