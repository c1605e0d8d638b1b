# A request's card in its seller's chat, and as others see it.

button-edit = ✏ Bearbeiten
button-poster = 🖼 Plakat
button-payments = 💰 Zahlungen
button-alerts = 🔔 Meldungen
card-taken =
    { $paid ->
        [one] Einmal bezahlt · bisher <b>{ $amount }</b> eingenommen
       *[other] { $paid }-mal bezahlt · bisher <b>{ $amount }</b> eingenommen
    }
card-starts = Öffnet { $moment }
card-ends = Endet { $moment }
card-email-unconfirmed = ✉ { $email } ist noch nicht bestätigt: Öffne den Link in der E-Mail, die dorthin ging. Zahlungen bis dahin kommen in einer Zusammenfassung.
card-email-confirmed = ✉ Zahlungen werden auch an { $email } gemeldet (bestätigt { $moment })
card-email-ended = ✉ { $email } möchte keine E-Mails mehr.

## A word or two, in capitals, across the code of the picture

stamp-soldOut = AUSVERKAUFT
stamp-expired = ABGELAUFEN
stamp-stopped = GESTOPPT
stamp-completed = BEZAHLT
stamp-deleted = GELÖSCHT

## As others see it

public-gone = <b>{ $name }</b> gibt es nicht mehr.
link-gone = Unter diesem Link gibt es nichts zu bezahlen. Vielleicht ist er abgelaufen oder nicht ganz kopiert: Lass dir einen neuen geben.
poster-scan = Zum Bezahlen scannen
