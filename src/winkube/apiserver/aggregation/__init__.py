"""API groups that other servers answer for: APIServices, and requests passed on to them."""
