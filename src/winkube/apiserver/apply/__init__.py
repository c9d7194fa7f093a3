"""Server-side apply: who owns which field, and what an applied configuration makes of an object."""
