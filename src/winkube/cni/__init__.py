"""CNI plugins, each an executable."""
