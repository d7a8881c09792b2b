"""The platform's area `problems`: what people write, and what happens to it."""
