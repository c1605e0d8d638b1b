# Was Zahlende schreiben, und was an Zahlungen vermerkt wird. Wie in chat.ftl.

## Name und Nachricht zu einer Zahlung

alert-from = 💰 <b>{ $amount }</b> von <b>{ $payer }</b> für <b>{ $name }</b>
alert-words-from =
    💰 <b>{ $amount }</b> von <b>{ $payer }</b>: <i>{ $message }</i>
    Für <b>{ $name }</b>
alert-words =
    💰 <b>{ $amount }</b> erhalten: <i>{ $message }</i>
    Für <b>{ $name }</b>
words-line = 💬 <b>{ $payer }</b>: <i>{ $message }</i>
words-name = 💬 <b>{ $payer }</b>
words-message = 💬 <i>{ $message }</i>
words-more =
    { $more ->
        [one] 💬 { $more } weitere Nachricht steht in /payments.
       *[other] 💬 { $more } weitere Nachrichten stehen in /payments.
    }
words-hidden = 🙈 Du hast ausgeblendet, was hier stand.
button-hide = 🙈 Nachricht ausblenden
button-hide-name = 🙈 Namen ausblenden
button-hide-of = 🙈 { $payer }
button-hide-undo = 👁 Wieder anzeigen
toast-hidden = Ausgeblendet. Unter „Einzelheiten“ der Zahlung kannst du es wieder anzeigen.
toast-hidden-elsewhere = Überall sonst ausgeblendet. Diese Nachricht kann ich nicht mehr ändern: Lösch sie, wenn es hier niemand lesen soll.
toast-shown = Es wird wieder angezeigt.
toast-hidden-already = Das ist schon ausgeblendet.

## Codes, auf die gewartet wird

alert-codes-waiting =
    { $waiting ->
        [one] ⏳ <b>Jemand wartet: Schick einen Code.</b>
       *[other] ⏳ <b>Es fehlen { $waiting } Codes: Schick sie jetzt.</b>
    }

## Verschickt und zurückgezahlt, und wer davon erfährt

button-sent = 📦 Verschickt
button-sent-undo = Doch nicht verschickt
mark-sent = 📦 Verschickt: { $at }
ask-sent =
    <b>Als verschickt vermerkt.</b>
    { $there ->
        [elsewhere] Das ist nur für deine Unterlagen: Über diesen Zahlungsdienst kann ich es nicht weitergeben.
       *[here] Ich gebe Bescheid, sobald du geantwortet hast, spätestens in 10 Minuten.
    }
    Möchtest du eine Sendungsnummer oder eine Notiz dazu? Schick sie jetzt, oder überspring sie.
mark-stays-sent = OK, keine Notiz. Die Zahlung bleibt als verschickt vermerkt. Um das zurückzunehmen, öffne sie in /payments und tippe auf „Doch nicht verschickt“.
mark-stays-paid-back = OK, keine Notiz. Die Zahlung bleibt als zurückgezahlt vermerkt. Um das zurückzunehmen, öffne sie in /payments und tippe auf „Doch nicht zurückgezahlt“.
problem-sent-empty = ⚠ Diese Nachricht ist leer. Schick die Sendungsnummer oder die Notiz als Text, oder tippe auf „Überspringen“.
problem-sent-long = ⚠ Das sind { $length } Zeichen, möglich sind { $most }. Bitte kürze die Notiz.
marks-sent-telegram = 📦 <b>{ $name }</b> ist als verschickt vermerkt. Ich habe in Telegram Bescheid gegeben.
marks-sent-email = 📦 <b>{ $name }</b> ist als verschickt vermerkt. Eine E-Mail ist unterwegs.
marks-sent-none = 📦 <b>{ $name }</b> ist als verschickt vermerkt. Es wurde keine E-Mail-Adresse hinterlassen, deshalb steht es nur auf dem Beleg.
marks-sent-unsure = 📦 <b>{ $name }</b> ist als verschickt vermerkt. Es steht auf dem Beleg, und wenn eine E-Mail-Adresse hinterlassen wurde, kommt auch eine E-Mail.
marks-paid-back-telegram = ↩ <b>{ $name }</b> ist als zurückgezahlt vermerkt. Ich habe in Telegram Bescheid gegeben.
marks-paid-back-email = ↩ <b>{ $name }</b> ist als zurückgezahlt vermerkt. Eine E-Mail ist unterwegs.
marks-paid-back-none = ↩ <b>{ $name }</b> ist als zurückgezahlt vermerkt. Es wurde keine E-Mail-Adresse hinterlassen, deshalb steht es nur auf dem Beleg.
marks-paid-back-unsure = ↩ <b>{ $name }</b> ist als zurückgezahlt vermerkt. Es steht auf dem Beleg, und wenn eine E-Mail-Adresse hinterlassen wurde, kommt auch eine E-Mail.
marks-local = Das ist für deine Unterlagen gespeichert. Der Zahlungsdienst von <b>{ $name }</b> kann es nicht weitergeben.
marks-refused = Der Zahlungsdienst hat deinen Vermerk zur Zahlung für <b>{ $name }</b> nicht angenommen. Hier bleibt er gespeichert, aber ich kann ihn nicht weitergeben. Sag am besten selbst Bescheid.
marks-given-up = Der Zahlungsdienst antwortet seit Tagen nicht, deshalb konnte ich deinen Vermerk zur Zahlung für <b>{ $name }</b> nicht weitergeben. Hier bleibt er gespeichert. Um es noch einmal zu versuchen, nimm ihn zurück und setz ihn dann noch einmal.
marks-service-down = Der Zahlungsdienst antwortet nicht. Dein Vermerk zur Zahlung für <b>{ $name }</b> ist gespeichert, und ich versuche weiter, ihn weiterzugeben. Du musst nichts tun.
