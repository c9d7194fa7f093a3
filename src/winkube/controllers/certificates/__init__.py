"""Certificate signing requests: approve kubelets' own, sign what is approved, clean up."""
