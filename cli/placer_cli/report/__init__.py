"""Reports: an answer as one HTML page that asks nothing of the network, for those who pay."""
