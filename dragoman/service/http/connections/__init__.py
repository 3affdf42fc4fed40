"""The connections of a server: how many there are, how long each may take, and how much they hold."""
