"""Kafka to committed rows, beside other ways to do it: one broker, the same topics, rounds in turn.

Every contestant is a process of its own that prints one line of JSON. Those that cannot be installed beside our lock
run in an environment of their own, `peers.py`.
"""
