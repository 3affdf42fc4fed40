"""HTTP of questions for the LLM."""
