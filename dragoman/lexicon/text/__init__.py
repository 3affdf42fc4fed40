"""Words of texts: languages, folding, segmentation, tokens with offsets."""
