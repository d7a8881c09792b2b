"""Take: human tests on line, of which nobody sees both halves of anything."""
