"""What payers see: pay page, checkout, receipt, the pages behind emails; the ASGI application."""
