"""A ranker that asks a Dragoman service, across languages."""

from haystack_integrations.components.rankers.dragoman.ranker import DragomanRanker

__all__ = ["DragomanRanker"]
