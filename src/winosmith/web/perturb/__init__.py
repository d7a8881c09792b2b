"""Perturbing sentences slightly, in growing families, to test whether models follow each change."""
