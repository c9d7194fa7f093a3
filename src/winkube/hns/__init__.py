"""The emulated Windows Host Networking Service: documents, error codes, features, dataplanes."""
