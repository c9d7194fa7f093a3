"""Texts as Go reads and writes them: numbers, times, durations, JSON, and values in messages."""
