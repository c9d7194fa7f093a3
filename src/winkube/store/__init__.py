"""The revisioned key-value log over bytes: one Protocol, several implementations."""
