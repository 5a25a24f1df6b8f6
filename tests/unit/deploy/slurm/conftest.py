"""The cluster that tests of the lab share."""

from tests.support.slurm import slurm, slurm_lab

__all__ = ["slurm", "slurm_lab"]
