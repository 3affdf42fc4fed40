"""The dragoman command, a module for each group of its commands."""
