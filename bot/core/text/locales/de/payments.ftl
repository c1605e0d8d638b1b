# Das Menü der Karte, die Nummer einer Zahlung, und wie man eine Zahlung findet. Wie in chat.ftl.

button-more = ⋯ Mehr
