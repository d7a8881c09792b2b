"""The addresses of `people`."""

from __future__ import annotations

from django.urls import URLPattern, path

from winosmith.web.people import views_entry, views_invitations, views_law, views_me

app_name = "people"
urlpatterns: list[URLPattern] = [
    path("", views_me.me, name="me"),
    path("about-me.json", views_me.data, name="data"),
    path("hide/", views_me.hide, name="hide"),
    path("erase/", views_me.erase, name="erase"),
    path("erase/<int:number>/", views_me.erase_other, name="erase_other"),
    path("join/", views_entry.join, name="join"),
    path("join/<str:token>/", views_entry.join, name="invited"),
    path("login/", views_entry.login, name="login"),
    path("logout/", views_entry.logout, name="logout"),
    path("password/", views_entry.password, name="password"),
    path("consent/", views_law.consent, name="consent"),
    path("texts/", views_law.texts, name="texts"),
    path("texts/<slug:kind>/<int:version>/", views_law.text, name="text"),
    path("invitations/", views_invitations.invitations, name="invitations"),
    path("invitations/<int:number>/take-back/", views_invitations.take_back, name="take_back"),
]
