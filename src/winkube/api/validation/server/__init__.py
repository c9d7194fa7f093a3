"""The API server's own kinds: admission, aggregation, flow control, certificates, access."""
