"""Jobs at the payment service: create, edit, stop, resume, delete, and their outcomes."""
