"""The pages of reading."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

__all__ = ["forgery_suspected", "home"]


def home(request: HttpRequest) -> HttpResponse:
    """Show what the site is for and where its data stand."""
    return render(request, "read/home.html")


def forgery_suspected(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Tell that a form did not come from a page of this site, and keep nothing of it."""
    return render(request, "forgery.html", status=403)
