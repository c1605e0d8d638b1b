# What a receipt says, on its page and by email; emails to sellers say the same.

receipt-amount = Betrag
receipt-paid = Gezahlt als
receipt-quantity = Anzahl
receipt-reference = Verwendungszweck
receipt-when = Datum
receipt-transaction = Transaktionsnummer
payment-link = Zahlungslink
receipt-view = Beleg ansehen
receipt-keep = In Telegram speichern

# What its page says of the email.

receipt-emailed = Wir haben den Beleg per E-Mail an { $address } geschickt.
receipt-emailing = Wir schicken den Beleg per E-Mail an { $address }.
