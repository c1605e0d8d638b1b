# Das Menü der Karte, die Nummer einer Zahlung, und wie man eine Zahlung findet. Wie in chat.ftl.

button-more = ⋯ Mehr

## Geld, das kam, als nichts mehr übrig war

to-refund =
    ⚠️ Zu erstatten: <b>{ $amount }</b> ({ $count ->
        [one] { $count } Zahlung
       *[other] { $count } Zahlungen
    })

## Die Nummer einer Zahlung, die ein Tipp kopiert

payment-number = 🧾 <code>{ $number }</code>
alert-more-numbers =
    { $more ->
        [one] … und { $more } weitere Zahlung: Ihre Nummer steht unter Mehr → Zahlungen.
       *[other] … und { $more } weitere Zahlungen: Ihre Nummern stehen unter Mehr → Zahlungen.
    }

## Was /find findet

find-help =
    <b>Eine Zahlung finden</b>
    Schick /find mit dem Verwendungszweck oder der Transaktionsnummer vom Beleg, zum Beispiel <code>/find 64b7c0a1</code>. Von der Nummer genügen die ersten oder letzten { $least } Zeichen.

    Einen Zahlungslink findest du über einen Teil seines Namens, zum Beispiel <code>/find Kaffee</code>.
find-payment = 🔎 <b>Zahlung für { $name }</b>
find-several = 🔎 <b>{ $count } Zahlungen passen</b>
find-more-payments = Es gibt noch mehr. Gib mehr von der Nummer ein.
find-links = 🔎 <b>Zahlungslinks mit „{ $text }“</b>
find-more-links = Es gibt noch mehr. Gib mehr vom Namen ein.
find-none =
    Zu „{ $text }“ habe ich nichts gefunden.
    Vergleiche das mit dem Beleg: Ich suche nach dem Verwendungszweck und der Transaktionsnummer. Von der Nummer brauche ich mindestens { $least } Zeichen vom Anfang oder Ende. Wenn alles stimmt, ging die Zahlung an jemand anderen.

## Eine Auflage, deren letzte Stücke alle gerade bezahlt werden

mark-reserved = 🟡
status-reserved-left = 🟡 { $left }
