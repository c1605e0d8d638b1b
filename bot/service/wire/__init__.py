"""Between the interface and the service's types: from its bodies, to its answers."""
