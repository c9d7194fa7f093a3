// Package upstream names the Kubernetes programs that the differential tests run beside winkube.
// Its go.mod pins their version; the staging modules are replaced by their published ones.
package upstream

import (
	_ "k8s.io/kubernetes/cmd/kube-apiserver/app"
	_ "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	_ "k8s.io/kubernetes/cmd/kube-scheduler/app"
)
