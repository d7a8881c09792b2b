"""The platform's area `write`: a topic, a twin, live checks, drafts."""
