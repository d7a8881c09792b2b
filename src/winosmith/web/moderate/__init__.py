"""The platform's area `moderate`: what comes in, what is decided, and what was decided."""
