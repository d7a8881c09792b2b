"""Perturbation of sentences, in families, to test whether models follow each small change."""
