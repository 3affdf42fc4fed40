"""HTTP of collections and their documents."""
