"""What every room of the service uses: settings, the closed set of errors, names, JSON, streams, priorities."""
