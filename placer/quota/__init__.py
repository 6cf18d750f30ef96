"""Quotas of classes of resources: filter nodes by them and choose among nodes and devices."""
