"""What every endpoint shares: bodies, errors, authentication, admission, middleware, probes."""
