"""A live Slurm: what polls of it say, as events; each fact once, whatever was missed between two polls."""
