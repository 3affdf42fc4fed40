"""Words and signs of many languages that are numbers, units or parts of dates."""
