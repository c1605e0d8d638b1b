"""Payment requests: their rules, their rows, the commands of applications, idempotent calls."""
