"""What payers see: pay page, checkout, receipt, pictures, the pages behind the links of emails."""
