"""The pages of reading."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

__all__ = ["browse", "card", "download", "forgery_suspected", "guidelines", "home", "problem"]


def home(request: HttpRequest) -> HttpResponse:
    """Show what the site is for and where its data stand."""
    return render(request, "read/home.html")


def browse(request: HttpRequest) -> HttpResponse:
    """Show the public problems, searched and filtered."""
    return render(request, "read/home.html")


def problem(request: HttpRequest, ref: str) -> HttpResponse:
    """Show a problem."""
    return render(request, "read/home.html")


def download(request: HttpRequest) -> HttpResponse:
    """Show what can be downloaded."""
    return render(request, "read/home.html")


def guidelines(request: HttpRequest) -> HttpResponse:
    """Show how twins are written and judged."""
    return render(request, "read/home.html")


def card(request: HttpRequest) -> HttpResponse:
    """Show the data card."""
    return render(request, "read/home.html")


def forgery_suspected(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Tell that a form did not come from a page of this site, and keep nothing of it."""
    return render(request, "forgery.html", status=403)
