"""The enforcer acts: who ranks ahead, what is held, what is preempted, and why."""
