"""What the templates of reading need."""
