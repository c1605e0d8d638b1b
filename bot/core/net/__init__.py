"""HTTP and email on the wire: permitted addresses, clients, request bodies, rates."""
