# How sellers are told of payments: the choice for each request, the totals, the daily summary, the
# end of a drop, and what could not be delivered. As in chat.ftl.

## What a request took in all

alert-together =
    Zusammen: <b>{ $total }</b> aus { $count ->
        [one] { $count } Zahlung
       *[other] { $count } Zahlungen
    }

## On, silent or off

alerts-menu =
    🔔 <b>Meldungen zu „{ $name }“</b>
    Wie soll ich dir die Zahlungen melden?

    • <b>An</b>: zu jeder Zahlung eine Nachricht mit Ton.
    • <b>Lautlos</b>: dieselbe Nachricht ohne Ton.
    • <b>Aus</b>: gar keine Nachricht; nur die Karte bleibt auf dem neuesten Stand. Nur von Geld, das kam, als nichts mehr übrig war, erfährst du trotzdem, denn das musst du zurückzahlen.
alerts-menu-quiet =
    In deinen Ruhezeiten kommt alles ohne Ton, egal was du hier wählst.
button-alerts-on = An
button-alerts-silent = Lautlos
button-alerts-off = Aus
button-chosen = ✅ { $label }
toast-alerts-on = Meldungen sind an: Jede Zahlung kommt mit Ton.
toast-alerts-silent = Meldungen sind lautlos: Jede Zahlung kommt ohne Ton.
toast-alerts-off = Meldungen sind aus: Nur die Karte bleibt auf dem neuesten Stand. Was du zurückzahlen musst, erfährst du trotzdem.

## The end of a drop

drop-told =
    🏁 <b>{ $name }</b>: { $sold ->
        [one] das einzige Stück verkauft = { $told } Meldung zugestellt
       *[other] alle { $sold } verkauft = { $told } Meldungen zugestellt
    }
drop-sold =
    🏁 <b>{ $name }</b>: { $sold ->
        [one] das einzige Stück verkauft
       *[other] alle { $sold } verkauft
    }, { $told ->
        [one] { $told } Meldung zugestellt
       *[other] { $told } Meldungen zugestellt
    }
drop-muted =
    { $muted ->
        [one] { $muted } Zahlung kam, während die Meldungen aus waren.
       *[other] { $muted } Zahlungen kamen, während die Meldungen aus waren.
    }
drop-lost =
    ⚠ { $lost ->
        [one] { $lost } Meldung konnte nicht zugestellt werden: /alerts zeigt sie.
       *[other] { $lost } Meldungen konnten nicht zugestellt werden: /alerts zeigt sie.
    }
drop-oversold =
    ⚠ { $oversold ->
        [one] Außerdem kam { $oversold } Zahlung, als nichts mehr übrig war: Du musst sie zurückzahlen.
       *[other] Außerdem kamen { $oversold } Zahlungen, als nichts mehr übrig war: Du musst sie zurückzahlen.
    }

## The daily summary

summary = 📊 <b>Die letzten 24 Stunden</b>
summary-line =
    • <b>{ $name }</b>: { $total } aus { $count ->
        [one] { $count } Zahlung
       *[other] { $count } Zahlungen
    }
summary-more =
    { $more ->
        [one] … und { $more } weiterer Link
       *[other] … und { $more } weitere Links
    }
summary-none = 📊 In den letzten 24 Stunden ist nichts eingegangen.

## What could not be delivered

undelivered-none = ✅ Alles wurde zugestellt: Keine Meldung fehlt.
undelivered = ⚠ <b>Meldungen, die dich nicht erreicht haben</b>
undelivered-line = • { $at }: <b>{ $amount }</b> für <b>{ $name }</b>: { $why }
undelivered-several =
    • { $at }: <b>{ $amount }</b> für <b>{ $name }</b> ({ $count ->
        [one] { $count } Zahlung
       *[other] { $count } Zahlungen
    }): { $why }
undelivered-more =
    { $more ->
        [one] … und { $more } Nachricht davor
       *[other] … und { $more } Nachrichten davor
    }
undelivered-refused = Telegram hat die Nachricht nicht angenommen
undelivered-unclear = Telegram hat nie gesagt, ob sie ankam
undelivered-blocked = du hattest mich blockiert; sie kommt jetzt
undelivered-waiting = sie ist unterwegs
undelivered-hint = Keine Zahlung ist verloren: Alle zählen. Tippe auf <b>Noch einmal senden</b>, dann versuche ich es erneut.
button-send-again = 🔁 Noch einmal senden
toast-sent-again = Sie sind wieder unterwegs.
toast-all-delivered = Alles wurde zugestellt.
