"""What searches, ranks and reads: plain dataclasses in and out, without HTTP and without a database."""
