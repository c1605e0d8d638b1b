# The e-mail that tells of a payment.

mail-subject = { $amount } für { $name }
mail-subject-oversold = { $amount } für { $name }: bitte zurückzahlen
mail-heading = { $amount } erhalten
mail-oversold = Als diese Zahlung kam, war nichts mehr übrig. Das Geld muss an den Käufer zurückgezahlt werden.

mail-product = Für
mail-paid-in = Gezahlt als
mail-left = Übrig
mail-left-units =
    { $left ->
        [0] Nichts mehr: ausverkauft
       *[other] { NUMBER($left) }
    }
mail-left-reserved =
    { $left ->
        [0] Nichts mehr
       *[other] { NUMBER($left) }
    }; { $reserved ->
        [one] { $reserved } wird gerade bezahlt
       *[other] { NUMBER($reserved) } werden gerade bezahlt
    }
mail-when = Zeitpunkt
mail-at = { DATETIME($at, dateStyle: "long", timeStyle: "medium") } UTC
mail-paymail = Paymail
mail-email = E-Mail-Adresse
mail-phone = Telefonnummer
mail-transaction = Transaktion
mail-request = Zahlungslink
mail-receipt = Beleg öffnen
mail-why = Diese E-Mail wurde verschickt, weil im Zahlungslink diese Adresse für Nachrichten über Zahlungen angegeben ist.
