"""The face of the system: command line, API, configuration and wiring."""
