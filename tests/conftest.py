"""Settings of every test process."""

import os

from hypothesis import HealthCheck, settings

# As in the supervisor: gRPC's fork handlers crash children of a process with gRPC threads.
os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "false"

# How long an example takes is up to the machine.
settings.register_profile("calm", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("calm")
