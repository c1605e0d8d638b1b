# Das Menü der Karte, die Nummer einer Zahlung, und wie man eine Zahlung findet. Wie in chat.ftl.

button-more = ⋯ Mehr

## Geld, das kam, als nichts mehr übrig war

to-refund =
    ⚠️ Zurückzuzahlen: <b>{ $amount }</b> ({ $count ->
        [one] { $count } Zahlung
       *[other] { $count } Zahlungen
    })
