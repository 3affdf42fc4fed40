"""Migrations of the database of earlier versions, by Alembic."""
