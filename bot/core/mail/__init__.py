"""Email: headers, and the addresses of the SMTP server and the sender."""
