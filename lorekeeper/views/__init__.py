"""What each viewer sees of a library."""
