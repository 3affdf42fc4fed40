"""The dragoman command, with one module per group of commands."""
