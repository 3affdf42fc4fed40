"""What all endpoints share: dependencies, the list of routers, documentation, health, the page."""
