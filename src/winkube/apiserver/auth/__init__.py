"""Who asks (certificates, tokens) and whether they may (authorisers)."""
