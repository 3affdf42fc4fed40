"""Shared by all endpoints: bodies, errors, authentication, admission, middleware, probes."""
