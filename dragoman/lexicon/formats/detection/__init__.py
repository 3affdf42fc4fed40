"""What the content of a table file says about how to read it: encoding, separator, columns and their languages."""
