# What payers choose, give and get, on cards and pictures. HTML as in chat.ftl.

card-suggested = Vorschläge: { $amounts }
card-at-most = Höchstens { $amount }
card-each = Bis zu { $most } Stück pro Kauf
card-gets-text = 🎁 Mit einer Nachricht nach der Zahlung
card-gets-file = 🎁 Mit einer Datei zum Herunterladen
card-gets-codes = 🎁 Mit eigenem Code
poster-scan-choice = Scannen und Betrag wählen
button-pay-choice = Betrag wählen
