"""Models and training of the backbone: tokenizer, VECO, encoders behind one interface, translation."""
