"""Modules to import before processes are forked; none reads settings or starts a thread."""

# ruff: noqa: F401

import contextlib
import gc

import matplotlib.backends.backend_svg
import matplotlib.figure
import numba
import scipy.stats
import sklearn.linear_model

import winosmith.cli
import winosmith.evolve
import winosmith.humans
import winosmith.rounds
import winosmith.solve
import winosmith.validate

with contextlib.suppress(ImportError):  # without the extra `web`
    import django.contrib.admin
    import django.core.handlers.wsgi
    import django.core.management
    import django.core.paginator
    import django.core.serializers.json
    import django.core.servers.basehttp
    import django.db.migrations.executor
    import django.db.models
    import django.forms
    import django.http
    import django.template.loader
    import django.test
    import django.urls
    import django.views.generic
    import waitress
    import whitenoise.middleware

# Forked processes need not collect these objects as garbage, and so don't copy their pages.
gc.collect()
gc.freeze()
