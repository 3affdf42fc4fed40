"""Files and streams, with the standard library alone: read within limits line by line, written whole or not at all."""
