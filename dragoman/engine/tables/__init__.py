"""The active tables at one moment: merged into views, looked up, and trained from parallel texts."""
