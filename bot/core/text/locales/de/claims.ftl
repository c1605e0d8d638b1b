# Money that a payer says was sent, how payments were paid, and what was paid back. As in chat.ftl.

command-payments = Deine letzten Zahlungen, und was auf dich wartet

## A claim: the payer says the money is sent, and the seller says whether it arrived

claims-waiting =
    { $kind ->
        [bank] 🏦
        [sandbox] 🧪
       *[other] ⚡
    } <b>{ $amount }</b> für <b>{ $name }</b>: Ist das Geld da?
    Jemand hat gemeldet, dass es { $how } unterwegs ist. { $kind ->
        [bank] Sieh auf deinem Konto nach und tippe dann auf einen Knopf.
        [sandbox] Nachsehen kannst du nirgends: Tippe einfach auf den Knopf, den du ausprobieren möchtest.
       *[other] Sieh in deiner Wallet nach und tippe dann auf einen Knopf.
    }
claims-until = Deine Antwort wird bis { $moment } erwartet.
claims-reminder = ⏳ <b>Hier fehlt noch deine Antwort.</b>
claims-lapsed =
    ⌛ <b>{ $amount }</b> für <b>{ $name }</b>: nicht rechtzeitig beantwortet
    Das Geld sollte { $how } kommen, aber deine Antwort kam nicht bis { $moment }. Wenn es da ist, tippe auf den Knopf, dann verbuche ich es.
claims-confirming = ⏳ <b>{ $amount }</b> für <b>{ $name }</b> wird bestätigt …
claims-rejecting = ⏳ <b>{ $amount }</b> für <b>{ $name }</b> wird als nicht erhalten vermerkt …
claims-confirmed = ✅ Du hast <b>{ $amount }</b> für <b>{ $name }</b> bestätigt. Die Meldung zur Zahlung ist unterwegs.
claims-paid = ✅ <b>{ $amount }</b> für <b>{ $name }</b> ist da.
claims-rejected =
    ✖ <b>{ $amount }</b> für <b>{ $name }</b>: nicht erhalten
    Auf der Zahlungsseite steht jetzt, dass du die Zahlung nicht gefunden hast. Wenn sie noch kommt, tippe auf den Knopf, dann verbuche ich sie.
claims-closed = Diese Zahlung über <b>{ $amount }</b> für <b>{ $name }</b> gibt es beim Zahlungsdienst nicht mehr.
claims-ask-missing =
    <b>Sind { $amount } für { $name } wirklich nicht da?</b>
    Auf der Zahlungsseite steht dann, dass du die Zahlung nicht gefunden hast{ $product ->
        [donation] { "" }
       *[other] { "" }, und das Stück kommt wieder in den Verkauf
    }. { $kind ->
        [bank] Eine Überweisung kann ein paar Tage dauern, vielleicht lohnt es sich zu warten.
        [sandbox] Es ist Testgeld, du kannst es also gefahrlos ausprobieren.
       *[other] Sieh noch einmal in deiner Wallet nach, bevor du antwortest.
    }
button-received = ✅ Erhalten
button-received-of = ✅ { $payment }
button-missing = Nicht erhalten
button-missing-yes = Ja, es ist nicht da
button-arrived = Es ist doch noch gekommen

## What became of an answer

claims-toast-confirming = Wird bestätigt …
claims-toast-rejecting = Wird gespeichert …
claims-toast-busy = Ich bin schon dabei.
claims-toast-confirmed = Diese Zahlung ist schon als erhalten verbucht.
claims-toast-paid-back = Du hast diese Zahlung als zurückgezahlt vermerkt. Wenn das ein Versehen war, mach es unter /payments rückgängig und nimm sie dann an.
claims-gone = Diese Zahlung finde ich nicht mehr. Sieh unter /payments nach.
claims-service-down = Der Zahlungsdienst antwortet nicht. Ich versuche weiter, deine Antwort zu <b>{ $name }</b> weiterzugeben. Du musst nichts tun.
claims-given-up = Der Zahlungsdienst hat einen Tag lang nicht geantwortet, deshalb konnte ich deine Antwort zu <b>{ $name }</b> nicht weitergeben. Bitte antworte noch einmal: Du findest die Zahlung unter /payments.
claims-refused = Der Zahlungsdienst hat deine Antwort zu <b>{ $name }</b> nicht angenommen. Geändert wurde nichts. Bitte versuch es in einer Minute noch einmal.
claims-settled-already = Diese Zahlung für <b>{ $name }</b> ist schon als erhalten verbucht und lässt sich nicht mehr ablehnen. Wenn du das Geld zurückgeben musst, zahl es selbst zurück und vermerke das unter /payments.
claims-lapsed-already = Die Frist für deine Antwort war schon vorbei, deshalb gibt es bei <b>{ $name }</b> nichts mehr abzulehnen. Wenn das Geld doch noch kommt, kannst du es weiterhin bestätigen.
claims-no-checkout = Diese Zahlung für <b>{ $name }</b> gibt es beim Zahlungsdienst nicht mehr. Du kannst sie weder bestätigen noch ablehnen.

## /payments

claims-waiting-list =
    { $count ->
        [one] <b>Hier fehlt deine Antwort</b>
       *[other] <b>Hier fehlt deine Antwort ({ $count })</b>
        Tippe bei jeder Zahlung, die da ist, auf ✅ mit ihrem Verwendungszweck.
    }
claims-entry =
    <b>{ $amount }</b> für <b>{ $name }</b>
    Gemeldet: { $since }
    Antwort bis: { $until }
claims-doubtful = ⚠️ Eine von { $count } unbestätigten Zahlungen aus demselben Netz
claims-digest =
    📬 { $count ->
        [one] <b>Eine weitere Zahlung</b> für <b>{ $name }</b> wartet auf deine Antwort
       *[other] <b>{ $count } weitere Zahlungen</b> für <b>{ $name }</b> warten auf deine Antwort
    }
    Tippe bei jeder Zahlung, die da ist, auf ✅.
claims-digest-entry = <b>{ $amount }</b>, gemeldet: { $since }
claims-digest-all =
    { $more ->
        [0] Alles, was wartet: /payments
       *[other] … und { $more } weitere. Alle auf einen Blick: /payments
    }
claims-digest-done = ✅ Bei <b>{ $name }</b> ist hier nichts mehr offen.
claims-latest =
    { $page ->
        [one] <b>Letzte Zahlungen</b>
       *[other] <b>Frühere Zahlungen</b> (Seite { $page })
    }
claims-nothing = Noch keine Zahlungen. Sobald jemand zahlt, sage ich dir hier Bescheid.
button-payment = 🧾 Einzelheiten

## How a payment was paid, and what it was worth

claims-by-bank = per Überweisung
claims-by-lightning = über Lightning
claims-by-sandbox = in Testgeld
claims-by-other = über { $kind }
claims-how = Bezahlt { $way }
claims-how-reference = Bezahlt { $way }, Verwendungszweck <code>{ $reference }</code>
claims-worth = { $price } = { $paid } ({ $source })
claims-surplus = ⚠️ Es kamen { $amount } mehr als der Preis.
claims-shortfall = ⚠️ Es kamen { $amount } weniger als der Preis.

## Too little money

claims-underpaid =
    ⚠️ <b>Zu wenig bezahlt:</b> Für <b>{ $name }</b> kamen nur { $amount } von { $asked }.
    Das zählt nicht als Verkauf. Bitte kläre das mit der Person, die bezahlt hat.
claims-underpaid-several =
    { $count ->
        [one] ⚠️ <b>Zu wenig bezahlt:</b> Für <b>{ $name }</b> kamen nur { $amount }. Das zählt nicht als Verkauf. Bitte kläre das mit der Person, die bezahlt hat.
       *[other] ⚠️ <b>Zu wenig bezahlt:</b> { $count } Zahlungen für <b>{ $name }</b> waren zu klein, zusammen { $amount }. Das zählt nicht als Verkauf. Bitte kläre das mit den Personen, die bezahlt haben. Unter /payments kannst du jede annehmen oder als zurückgezahlt vermerken.
    }
claims-payment-underpaid = ⚠️ Zu wenig bezahlt: zählt nicht als Verkauf
claims-underpaid-choice = Mit 🧾 { $number } kannst du die Zahlung annehmen oder als zurückgezahlt vermerken.
claims-accept-hint-listed = Wenn dir das reicht, nimm es unter /payments als bezahlt an.
claims-accept-hint = Wenn dir das reicht, tippe auf „Als bezahlt annehmen“, dann zählt es als Verkauf.
button-accept = ✅ Als bezahlt annehmen
claims-short =
    ⚠️ Zu wenig bezahlt: <b>{ $amount }</b> ({ $count ->
        [one] { $count } Zahlung
       *[other] { $count } Zahlungen
    }, oben nicht mitgezählt)

## Money that goes back

claims-refund-bank = Zum Zurückzahlen überweise den Betrag auf das Konto, von dem er kam.
claims-refund-lightning = Lass dir zum Zurückzahlen eine Lightning-Rechnung oder eine Lightning-Adresse geben und zahl aus deiner Wallet.
claims-refund-other = Schick das Geld selbst zurück.
claims-refund-mark-listed = Vermerke es danach unter /payments als zurückgezahlt.
claims-refund-mark = Tippe danach auf „Einzelheiten“ und vermerke es als zurückgezahlt.
button-paid-back = ↩ Zurückgezahlt
button-paid-back-undo = Doch nicht zurückgezahlt
claims-paid-back = ↩ Zurückgezahlt: { $at }
claims-note = 📝 { $note }
claims-returned =
    ↩ Davon zurückgezahlt: <b>{ $amount }</b> ({ $count ->
        [one] { $count } Zahlung
       *[other] { $count } Zahlungen
    })
claims-toast-unchanged = Das ist schon so vermerkt.
ask-paidback =
    <b>Als zurückgezahlt vermerkt.</b> Ich bewege kein Geld{ $there ->
        [elsewhere] { "" }: Das ist nur für deine Unterlagen. Über diesen Zahlungsdienst kann ich es nicht weitergeben.
       *[here] { "" }. Ich gebe Bescheid, sobald du geantwortet hast, spätestens in 10 Minuten.
    }
    Möchtest du eine Notiz dazu, zum Beispiel, wie du es zurückgezahlt hast? Schick sie jetzt, oder überspring sie.
claims-note-saved = 📝 Notiz gespeichert.
claims-note-skipped = Gut, keine Notiz.
problem-paidback-empty = ⚠ Diese Nachricht ist leer. Schick die Notiz als Text, oder tippe auf „Überspringen“.
problem-paidback-long = ⚠ Das sind { $length } Zeichen, möglich sind { $most }. Bitte kürze die Notiz.
