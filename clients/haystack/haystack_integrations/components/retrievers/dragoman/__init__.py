"""A retriever that asks a Dragoman service, across languages."""

from haystack_integrations.components.retrievers.dragoman.retriever import DragomanRetriever

__all__ = ["DragomanRetriever"]
