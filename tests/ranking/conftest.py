from tests.backbone.conftest import subwords, text

__all__ = ["subwords", "text"]
