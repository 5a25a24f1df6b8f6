"""Any table of jobs, nodes or pods as CSV, by a small declared mapping."""
