"""Counting, both ways: ids become counts, and counts ids, resource by resource."""
