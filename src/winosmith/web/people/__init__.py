"""The platform's area `people`: who takes part, in which role, and what they agreed to."""
