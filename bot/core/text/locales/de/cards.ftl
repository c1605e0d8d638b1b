# A request's card in its seller's chat, and as others see it.

button-edit = ✏ Bearbeiten
button-poster = 🖼 Plakat
button-payments = 💰 Zahlungen
button-alerts = 🔔 Meldungen
card-taken =
    { $paid ->
        [one] { $paid } Zahlung · <b>{ $amount }</b>
       *[other] { $paid } Zahlungen · <b>{ $amount }</b>
    }
card-starts = Öffnet { $moment }
card-ends = Endet { $moment }
card-email-unconfirmed = ✉ { $email } ist noch nicht bestätigt. Öffne den Link in der E-Mail, die dorthin ging. Zahlungen bis dahin kommen in einer Zusammenfassung.
card-email-confirmed = ✉ Zahlungen werden auch an { $email } gemeldet (bestätigt { $moment })
card-email-ended = ✉ { $email } hat die E-Mails zu Zahlungen abbestellt.

## A word or two, in capitals, across the code of the picture

stamp-soldOut = AUSVERKAUFT
stamp-expired = ABGELAUFEN
stamp-stopped = PAUSIERT
stamp-completed = BEZAHLT
stamp-deleted = GELÖSCHT

## As others see it

public-gone = <b>{ $name }</b> ist nicht mehr verfügbar.
link-gone = Link nicht gefunden. Vielleicht ist er abgelaufen oder nicht vollständig. Lass dir einen neuen schicken.
poster-scan = Zum Bezahlen scannen
