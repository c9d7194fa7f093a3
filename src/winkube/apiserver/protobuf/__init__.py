"""Kubernetes' protobuf bodies, read into the JSON form."""
