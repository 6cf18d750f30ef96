"""Objects that tell a cluster of a placement: annotations, patches, bindings, claims, pods."""
