"""Documents scored for a query by the reranker: the request, the scores, the response in each client's form."""
