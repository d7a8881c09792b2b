"""The platform's area `api`: what its pages do, for programs, by tokens of people's own."""
