"""Text analysis by language: segmentation, stemming, function words, transliteration."""
