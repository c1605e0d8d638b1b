# Das Menü der Karte, die Nummer einer Zahlung, und wie man eine Zahlung findet. Wie in chat.ftl.

button-more = ⋯ Mehr

## Geld, das kam, als nichts mehr übrig war

to-refund =
    ⚠️ Zurückzuzahlen: <b>{ $amount }</b> ({ $count ->
        [one] { $count } Zahlung
       *[other] { $count } Zahlungen
    })

## Die Nummer einer Zahlung, die ein Tipp kopiert

payment-number = Transaktion <code>{ $number }</code>
alert-more-numbers =
    { $more ->
        [one] … und { $more } weitere Zahlung: Ihre Nummer steht unter Mehr → Zahlungen.
       *[other] … und { $more } weitere Zahlungen: Ihre Nummern stehen unter Mehr → Zahlungen.
    }
