"""What a cluster is told of a placement: annotations, patches, bindings, whole pods."""
