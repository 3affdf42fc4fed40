"""What all parts of the engine stand on: errors, limits, turns, deadlines of stages, and what answers are made of."""
