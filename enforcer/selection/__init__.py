"""Which units yield: a small exact optimisation over nodes (POLICY §4)."""
