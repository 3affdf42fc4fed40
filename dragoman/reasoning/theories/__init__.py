"""Theories of facts and rules with questions of known depth and proof, made from a seed, in eleven languages."""
