"""The addresses of `people`."""

from __future__ import annotations

from django.urls import URLPattern, path

from winosmith.web.people import views

app_name = "people"
urlpatterns: list[URLPattern] = [
    path("", views.me, name="me"),
    path("about-me.json", views.data, name="data"),
    path("hide/", views.hide, name="hide"),
    path("erase/", views.erase, name="erase"),
    path("erase/<int:number>/", views.erase_other, name="erase_other"),
    path("join/", views.join, name="join"),
    path("join/<str:token>/", views.join, name="invited"),
    path("login/", views.login, name="login"),
    path("logout/", views.logout, name="logout"),
    path("password/", views.password, name="password"),
    path("consent/", views.consent, name="consent"),
    path("texts/", views.texts, name="texts"),
    path("texts/<slug:kind>/<int:version>/", views.text, name="text"),
    path("invitations/", views.invitations, name="invitations"),
    path("invitations/<int:number>/take-back/", views.take_back, name="take_back"),
]
