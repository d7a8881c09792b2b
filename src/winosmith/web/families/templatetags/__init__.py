"""Tags of the pages of families."""
