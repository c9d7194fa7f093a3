"""The CRI server for Windows containers: runc and Wine."""
