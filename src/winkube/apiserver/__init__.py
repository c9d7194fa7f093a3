"""The Kubernetes REST API over HTTP."""
