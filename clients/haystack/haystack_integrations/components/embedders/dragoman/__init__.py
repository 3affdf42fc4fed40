"""Embedders that ask a Dragoman service, across languages."""

from haystack_integrations.components.embedders.dragoman.embedders import DragomanDocumentEmbedder, DragomanTextEmbedder

__all__ = ["DragomanDocumentEmbedder", "DragomanTextEmbedder"]
