"""What makes pods from templates, by number, by time and by measure."""
