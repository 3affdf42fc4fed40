"""What is recorded of searches and of what followed them, and the reports that are made of it."""
