"""What Services own beyond their objects: cluster addresses and node ports."""
