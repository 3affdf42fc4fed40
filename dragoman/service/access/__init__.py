"""Who may call the service: API keys, rate limits, and the audit log."""
