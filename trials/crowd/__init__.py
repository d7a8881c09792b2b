"""Shared parts of the platform's trials: a server to kill, simulated people, and checks."""
