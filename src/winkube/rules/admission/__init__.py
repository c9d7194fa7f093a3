"""The rules as admission: what is said, changed or refused when a Windows pod is written.

Pure: the API server's own step and the stand-alone webhook ask the same functions.
"""
