"""What the scheduler is told; the defaults are kube-scheduler's."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class SchedulerConfig:
    scheduler_name: str = "default-scheduler"
    identity: str = "winkube-scheduler"
    leader_elect: bool = False
    initial_backoff: float = 1.0
    max_backoff: float = 10.0
    # How many bindings may be under way at once; decisions wait when all are.
    binders: int = 32
    # A pod that no event moved is tried again after this long.
    unschedulable_seconds: float = 300.0
    # A KubeSchedulerConfiguration: profiles with their plugins, weights and arguments.
    config_file: Path | None = None
