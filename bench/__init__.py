"""What is fast and what bounds it: `python -m bench`. Ratios against a bound in the same run, never timed tests."""
