"""Contracts that cross a process: CRI messages, CNI documents, SPDY and remote-command streams."""
