"""Fakes that ship for tests; product code never imports them."""
