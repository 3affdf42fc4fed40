"""What hostile and odd inputs cost the service: its silence, its memory, and the waiting of others."""
