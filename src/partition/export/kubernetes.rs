// SPDX-License-Identifier: GPL-2.0-only
//! The kubelet's part: containers with whole CPUs get the RT CPUs, all others the NRT CPUs.
//! Source: Kubernetes, "Control CPU Management Policies on the Node", and CRI-O's annotations.

use super::super::change::Kind;
use super::super::plan::{Plan, Request};
use super::Covers;

pub(super) fn render(_plan: &Plan, request: &Request) -> (String, Covers) {
    let text = format!(
        "# Part of the kubelet's configuration; drain the node first and remove\n\
         # /var/lib/kubelet/cpu_manager_state.\n\
         apiVersion: kubelet.config.k8s.io/v1beta1\n\
         kind: KubeletConfiguration\n\
         cpuManagerPolicy: static\n\
         cpuManagerPolicyOptions:\n  full-pcpus-only: \"true\"\n\
         topologyManagerPolicy: single-numa-node\n\
         reservedSystemCPUs: \"{}\"\n\
         # RT CPUs {} go to containers of class Guaranteed with whole CPUs. With CRI-O, annotate such\n\
         # a pod:\n\
         #   irq-load-balancing.crio.io: \"disable\"\n\
         #   cpu-quota.crio.io: \"disable\"\n",
        request.nrt, request.rt
    );
    (text, |kind| kind == Kind::CpusetShield)
}
