"""A real Slurm, and a process of Tenure's beside it."""

from tests.e2e.slurm.enforced import stopped
from tests.support.slurm import notes, slurm, slurm_lab

__all__ = ["notes", "slurm", "slurm_lab", "stopped"]
