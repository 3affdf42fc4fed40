"""What tests of tagging share."""

from tests.ranking.conftest import encoder, hub, subwords, text

__all__ = ["encoder", "hub", "subwords", "text"]
