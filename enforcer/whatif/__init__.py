"""What enforcement would have changed: one past, played on twice."""
