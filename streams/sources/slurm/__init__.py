"""Slurm: accounting rows, controller snapshots and node statements, from text and from JSON of every version."""
