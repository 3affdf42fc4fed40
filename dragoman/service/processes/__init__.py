"""Search processes: further processes of a service, which answer searches beside its own."""
