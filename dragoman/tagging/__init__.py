"""Order-insensitive sequence labelling: names and parts of speech in languages that no example was in."""
