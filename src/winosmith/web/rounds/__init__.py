"""Rounds of the benchmark on the site: started by an admin, published, told to contributors."""
