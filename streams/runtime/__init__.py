"""Where the processor runs: in one process (embedded), or on Kafka."""
