"""Demo data."""
