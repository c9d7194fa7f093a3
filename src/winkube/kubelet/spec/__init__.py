"""From a pod spec to CRI configuration: environment, DNS, security, resources, mounts."""
