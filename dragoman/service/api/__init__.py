"""The endpoints, one module a resource, and the two applications' routers."""
