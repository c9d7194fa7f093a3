"""The few shapes a check can have; a rule names one and gives it parameters."""
