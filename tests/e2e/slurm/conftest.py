"""A real Slurm, and a collector in a process of its own."""

from tests.support.slurm import slurm, slurm_lab

__all__ = ["slurm", "slurm_lab"]
