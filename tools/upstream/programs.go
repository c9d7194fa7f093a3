// Package upstream names the programs that the differential tests run beside winkube: Kubernetes'
// and the etcd it is made for.
// Its go.mod pins their version; the staging modules are replaced by their published ones.
package upstream

import (
	_ "go.etcd.io/etcd/server/v3/etcdmain"
	_ "k8s.io/kubernetes/cmd/kube-apiserver/app"
	_ "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	_ "k8s.io/kubernetes/cmd/kube-scheduler/app"
)
