"""What objects cost against a ResourceQuota: amounts, and one evaluator per resource."""
