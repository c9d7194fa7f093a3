"""What the API server tells beside an answer: fields that are odd, old or without effect."""
