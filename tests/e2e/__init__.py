"""The service among real programs: KEDA, Kueue, KubeRay, JobSet, Prometheus and an API server.

Only nodes, kubelets and GPUs are imitated. Nothing here is imported by the service, and nothing
here reads the service's insides: it is asked and watched as its users do.
"""
