"""Django's PostgreSQL backend, with less between a compiled statement and the server."""
