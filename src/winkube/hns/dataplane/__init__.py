"""What turns HNS documents into packets' paths: a Protocol, the kernel's, and a recording model."""
