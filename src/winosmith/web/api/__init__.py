"""The API: programs read the site's public data."""
