"""Crowd markets: paid studies by link, what their workers did, and what they were paid."""
