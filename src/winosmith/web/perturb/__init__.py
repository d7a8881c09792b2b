"""Perturbing sentences a little, to see whether models follow, in growing families."""
