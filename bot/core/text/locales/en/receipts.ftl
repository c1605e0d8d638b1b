# What a receipt says, on its page and by email; emails to sellers say the same.

receipt-amount = Amount
receipt-paid = Paid as
receipt-quantity = Quantity
receipt-reference = Reference
receipt-when = Date
receipt-transaction = Transaction number
payment-link = Payment link
receipt-view = View receipt
receipt-keep = Keep it in Telegram

# What its page says of the email.

receipt-emailed = We've emailed a receipt to { $address }.
receipt-emailing = We're emailing a receipt to { $address }.
