"""Why a pod has no place."""
