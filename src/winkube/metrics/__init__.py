"""metrics.k8s.io: what nodes and pods use, scraped from the kubelets."""
