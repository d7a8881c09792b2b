"""Families: trees of perturbed sentences, and the models' stability on these."""
