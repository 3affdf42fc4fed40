"""The connections of a server: how many there are, how long each may take, how much they hold, and how all end."""
