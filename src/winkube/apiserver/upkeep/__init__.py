"""What the server keeps in order by itself: its first objects, flow schemas, the past."""
