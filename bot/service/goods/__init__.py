"""What payers get after payment: files in parts, codes by unit number, and who is shown them."""
