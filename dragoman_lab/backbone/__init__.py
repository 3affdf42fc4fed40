"""Training: text files into batches, objectives, and one loop that resumes exactly after a kill."""
