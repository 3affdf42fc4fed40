"""Shared fixtures of the lab's tests: a vocabulary, and encoders of each kind."""

from tests.ranking.conftest import encoder, hub, subwords, text

__all__ = ["encoder", "hub", "subwords", "text"]
