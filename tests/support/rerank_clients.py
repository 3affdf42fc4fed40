"""Other people's clients for reranking, whose imports take seconds: a module of its own, for those who call them."""

from __future__ import annotations

import cohere
from langchain_cohere import CohereRerank
from langchain_core.documents import Document
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.postprocessor.cohere_rerank import CohereRerank as LlamaIndexCohere
from llama_index.postprocessor.tei_rerank import TextEmbeddingInference
from rerankers.models.api_rankers import APIRanker

__all__ = [
    "APIRanker",
    "CohereRerank",
    "Document",
    "LlamaIndexCohere",
    "NodeWithScore",
    "QueryBundle",
    "TextEmbeddingInference",
    "TextNode",
    "cohere",
]
