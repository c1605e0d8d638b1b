"""E-mail: mailboxes, headers, the SMTP connection."""
