"""The parts of objects with paths of their own: status, scale, binding, token, log and so on."""
