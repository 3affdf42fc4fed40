"""The commands `dragoman train` and `dragoman evaluate`."""
