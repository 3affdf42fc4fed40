"""Training of MART: lists of candidates, examples, the loop, measures, and the weights of what joins the score."""
