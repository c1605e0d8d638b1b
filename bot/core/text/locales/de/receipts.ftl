# What a receipt's page says of the receipt by e-mail.

receipt-emailed = Wir haben den Beleg per E-Mail an { $address } geschickt.
receipt-emailing = Wir schicken den Beleg per E-Mail an { $address }.
