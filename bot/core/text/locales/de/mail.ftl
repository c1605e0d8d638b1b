# The e-mails that tell of payments, and the one that asks for a confirmation.

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
mail-stop = Diese E-Mails abbestellen

# Several payments in one letter.

mail-many-subject = { $count } Zahlungen eingegangen
mail-many-heading = { $count } Zahlungen eingegangen
mail-many = { $rest ->
    [0] Zusammen: { $total }.
   *[other] Zusammen: { $total }. Unten stehen die neuesten Zahlungen; es gibt noch { $rest } weitere.
}
mail-many-oversold = { $count ->
    [one] Eine Zahlung kam, als nichts mehr übrig war. Das Geld steht dem Zahler zu: Bitte zahlen Sie es zurück.
   *[other] { $count } Zahlungen kamen, als nichts mehr übrig war. Das Geld steht den Zahlern zu: Bitte zahlen Sie es zurück.
}

# Sent to an address before anything else is. No word of it is the seller's.

mail-ask-subject = Bestätigen Sie Ihre E-Mail-Adresse bei { $host }
mail-ask-heading = Ist das Ihre Adresse?
mail-ask = Jemand, der über { $host } verkauft, möchte unter dieser Adresse über Zahlungen benachrichtigt werden. Wenn Sie das sind, bestätigen Sie die Adresse innerhalb von { $days } Tagen. Wenn nicht, ignorieren Sie diese E-Mail einfach: Dann kommen keine E-Mails über Zahlungen.
mail-ask-confirm = Adresse bestätigen
mail-ask-why = Diese E-Mail wurde gesendet, weil jemand diese Adresse eingegeben hat.
