"""Tags of rounds, for the pages of others, too."""
