"""Shared fixtures: encoders of each kind, ours, BERT and XLM-R."""

from tests.ranking.conftest import encoder, hub, subwords, text

__all__ = ["encoder", "hub", "subwords", "text"]
