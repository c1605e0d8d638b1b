"""Payment requests: rules, rows, commands of applications, idempotent calls."""
