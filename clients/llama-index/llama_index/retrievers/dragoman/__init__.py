"""Dragoman for LlamaIndex: a retriever, a reranker and embeddings of a service, across languages."""

from llama_index.retrievers.dragoman.base import DragomanEmbedding, DragomanRerank, DragomanRetriever
from llama_index.retrievers.dragoman.service import DragomanError

__all__ = ["DragomanEmbedding", "DragomanError", "DragomanRerank", "DragomanRetriever"]
