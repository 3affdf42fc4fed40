"""The backbone: objectives, tasks, throughput."""
