"""Documents in the database: as lines of an import, as callers see them, page by page, and changed field by field."""
