"""The addresses of one's tokens."""

from __future__ import annotations

from django.urls import path

from winosmith.web.api import views_tokens

__all__ = ["app_name", "urlpatterns"]

app_name = "tokens"
urlpatterns = [
    path("", views_tokens.tokens, name="mine"),
    path("<int:number>/revoke/", views_tokens.revoke, name="revoke"),
    path("revoke/", views_tokens.revoke_all, name="revoke_all"),
]
