"""Services to EndpointSlices and Endpoints."""
