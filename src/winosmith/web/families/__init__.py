"""Families: trees of perturbed sentences, and how stable each model is on them."""
