"""What a training changes in a frozen encoder: updates of low rank and biases, and which encoder they belong to."""
