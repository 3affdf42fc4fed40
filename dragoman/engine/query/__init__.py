"""Query understanding: language detection, translation by the active tables, and lexical links to documents."""
