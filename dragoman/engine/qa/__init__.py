"""Reading: questions answered and statements judged, by a context or by the documents of collections."""
