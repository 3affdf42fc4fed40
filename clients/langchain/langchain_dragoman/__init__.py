"""Dragoman for LangChain: a retriever, a reranker and embeddings of a service, across languages."""

from langchain_dragoman.components import DragomanEmbeddings, DragomanReranker, DragomanRetriever
from langchain_dragoman.service import DragomanError

__all__ = ["DragomanEmbeddings", "DragomanError", "DragomanReranker", "DragomanRetriever"]
