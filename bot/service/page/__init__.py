"""What payers see: pay page, receipt, QR picture."""
