"""Where entities come from."""
