"""HTTP of questions and statements."""
