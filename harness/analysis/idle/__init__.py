"""Why a device was idle: what its host did meanwhile, and what that host waited for."""
