"""Pages for payers: pay page, checkout, receipt, pictures, and the pages that emails link to."""
