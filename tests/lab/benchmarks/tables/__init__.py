"""The measuring of search: small benchmarks against a real server, measures against slow references."""
