"""The command line."""

from tenure.cli.app import app, main

__all__ = ["app", "main"]
