"""What is owed of payments, told: by webhook and by e-mail."""
