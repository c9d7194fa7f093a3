"""One pod on this node: what runs, what should, the steps between, and what is reported."""
