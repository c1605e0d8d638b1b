# What a receipt's page says of the receipt by email.

receipt-emailed = We've emailed a receipt to { $address }.
receipt-emailing = We're emailing a receipt to { $address }.
