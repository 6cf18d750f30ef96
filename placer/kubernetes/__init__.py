"""Dumps of clusters: objects of Kubernetes become an Instance, with a summary of how."""
