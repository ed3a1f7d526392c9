"""bubblewrap as a harbor environment."""
