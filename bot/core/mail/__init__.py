"""E-mail: mailboxes, headers, addresses of the SMTP server."""
