"""What the door returns: plain records whose attributes have the names of the HTTP fields."""
