"""Words and phrases that documents must hold, or must not: how they are written, translated and looked for."""
