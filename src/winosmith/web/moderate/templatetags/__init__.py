"""Tags of the moderators' pages."""
