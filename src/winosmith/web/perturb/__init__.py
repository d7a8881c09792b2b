"""Perturb: bend a sentence a little, see whether a model follows, and let the family grow."""
