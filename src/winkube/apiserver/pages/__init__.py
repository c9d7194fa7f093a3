"""What the server says about itself: discovery, health, metrics, the state of components."""
