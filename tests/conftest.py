"""Settings of every test process."""

import os

# As in the supervisor: gRPC's fork handlers crash children of a process with gRPC threads.
os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "false"
