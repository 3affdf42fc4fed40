"""What a search shows of each document: the evidence for its match, at a cost that does not grow with the text."""
