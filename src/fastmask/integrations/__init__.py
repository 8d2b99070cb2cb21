"""Ready-made parts for frameworks that run models: one framework a module."""
