"""First stage: retrieval quality, language detection, alignment and upload speed."""
