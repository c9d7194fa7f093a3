"""The horizontal pod autoscaler: how many replicas the metrics ask for, and the way there."""
