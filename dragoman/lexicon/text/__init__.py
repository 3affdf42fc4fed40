"""Text processing: languages, folding, segmentation, tokens with offsets."""
