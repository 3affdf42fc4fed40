"""Decoding that is led: phrases that must come, and where they are put."""
