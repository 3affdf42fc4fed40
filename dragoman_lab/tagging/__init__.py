"""Training of taggers."""
