"""The endpoints, one module per resource, and the routers of the two applications."""
