"""The files of the fair queue: simulations and histories, read with the place of each fault."""
