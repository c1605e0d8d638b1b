"""Email: mailboxes, headers, addresses of the SMTP server."""
