"""What is wrong with a checkpoint, for those who load it and for those who do without torch."""


class CheckpointError(ValueError):
    """A checkpoint that cannot be loaded; the message names the file and what is wrong with it."""
