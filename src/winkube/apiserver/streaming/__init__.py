"""What others answer: kubelets, pods, and the streams to and from them."""
