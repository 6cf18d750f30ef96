"""Plans: what to buy so that all of a demand finds a place, and why no plan is cheaper."""
