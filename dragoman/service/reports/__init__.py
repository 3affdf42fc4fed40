"""``/v1/events`` and ``/v1/reports``: what searches lacked, and what was done with what they found."""
