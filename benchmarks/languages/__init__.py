"""Accuracy of language detection."""
