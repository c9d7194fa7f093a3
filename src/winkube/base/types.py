"""The few aliases every package shares."""

from typing import Any

# Kubernetes objects stay JSON so that unknown fields survive; readers use small frozen views.
JsonObject = dict[str, Any]
