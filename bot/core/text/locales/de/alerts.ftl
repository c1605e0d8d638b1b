# How sellers are told of payments: the choice for each request, the totals, the daily summary, the
# end of a drop, and what could not be delivered. As in chat.ftl.

## What a request took in all

alert-goal-reached = 🎉 <b>Spendenziel erreicht</b>: { $goal }

## On, silent or off

alerts-menu =
    🔔 <b>Meldungen zu „{ $name }“</b>
    Wie soll ich dir Zahlungen melden?

    • <b>An</b>: zu jeder Zahlung eine Nachricht mit Ton.
    • <b>Lautlos</b>: dieselbe Nachricht ohne Ton.
    • <b>Aus</b>: keine Meldungen. Die Karte bleibt aktuell, und wenn eine limitierte Auflage ausverkauft ist, sage ich dir Bescheid. Von überverkauften Zahlungen erfährst du trotzdem, denn die musst du erstatten. Auch wenn jemand auf einen Code wartet, melde ich mich.
alerts-menu-quiet =
    In deiner Ruhezeit kommt alles ohne Ton, egal was du hier wählst.
button-alerts-on = An
button-alerts-silent = Lautlos
button-alerts-off = Aus
button-chosen = ✅ { $label }
toast-alerts-on = Meldungen sind an: Zu jeder Zahlung bekommst du eine Nachricht mit Ton.
toast-alerts-silent = Meldungen sind lautlos: Zu jeder Zahlung bekommst du eine Nachricht ohne Ton.
toast-alerts-off = Meldungen sind aus, nur die Karte bleibt aktuell. Von Zahlungen, die du erstatten musst, und fehlenden Codes erfährst du trotzdem.

## The end of a drop

drop-sold =
    🏁 <b>{ $name }</b>
    Ausverkauft: { $sold ->
        [one] das einzige Stück verkauft.
       *[other] alle { $sold } verkauft.
    }
drop-muted =
    { $muted ->
        [one] { $muted } Zahlung kam, während die Meldungen aus waren.
       *[other] { $muted } Zahlungen kamen, während die Meldungen aus waren.
    }
drop-lost =
    ⚠ { $lost ->
        [one] { $lost } Meldung konnte nicht zugestellt werden. Du findest sie unter /alerts.
       *[other] { $lost } Meldungen konnten nicht zugestellt werden. Du findest sie unter /alerts.
    }
drop-oversold =
    ⚠ { $oversold ->
        [one] { $oversold } Zahlung kam, als nicht mehr genug da war. Bitte erstatte sie.
       *[other] { $oversold } Zahlungen kamen, als nicht mehr genug da war. Bitte erstatte sie.
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
        [one] … und { $more } weiterer Zahlungslink
       *[other] … und { $more } weitere Zahlungslinks
    }
summary-none = 📊 In den letzten 24 Stunden gab es keine Zahlungen.

## What could not be delivered

undelivered-none = ✅ Alle Meldungen wurden zugestellt. Es fehlt nichts.
undelivered = ⚠ <b>Meldungen, die dich nicht erreicht haben</b>
undelivered-line =
    • { $at }: <b>{ $amount }</b> für <b>{ $name }</b>{ $count ->
        [1] { "" }
       *[other] { " " }({ $count } Zahlungen)
    }: { $why }
undelivered-more =
    { $more ->
        [one] … und { $more } ältere Nachricht
       *[other] … und { $more } ältere Nachrichten
    }
undelivered-refused = Telegram hat die Nachricht nicht angenommen
undelivered-unclear = Telegram hat nie bestätigt, dass sie ankam
undelivered-blocked = du hattest mich blockiert; jetzt ist sie unterwegs
undelivered-waiting = sie ist unterwegs
undelivered-hint = Keine Zahlung ist verloren: Alle zählen. Tippe auf <b>Noch einmal senden</b>, dann versuche ich es erneut.
button-send-again = 🔁 Noch einmal senden
toast-sent-again = Sie sind wieder unterwegs.
toast-all-delivered = Alle Meldungen wurden zugestellt.
