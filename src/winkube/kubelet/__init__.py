"""The node agent, for Linux and Windows nodes alike, over CRI."""
