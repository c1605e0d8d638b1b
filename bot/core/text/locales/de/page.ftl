# The pay page, the receipt and the pages that say why not.
# Payers are addressed as little as can be, else with "Sie".

page-title = { $name } – { $amount }
page-title-state = { $title }: { $name }
page-title-wrong = Bitte prüfen: { $name }
page-site = Zahlungslink
page-locale = de_DE
page-card = Preis und QR-Code für { $name }
page-test = Testgeld: Hier zahlt niemand wirklich.
page-former = vorher
page-now = jetzt
page-more = Mehr dazu
page-left = { NUMBER($left) } von { NUMBER($total) } verfügbar
page-reserved =
    { $count ->
        [one] Noch eins wird gerade bezahlt.
       *[other] { NUMBER($count) } weitere werden gerade bezahlt.
    }
page-opens = Beginn
page-ends = Ende
page-at = { DATETIME($at, dateStyle: "long", timeStyle: "short") } UTC
page-phone = Scannen und mit dem Handy bezahlen
page-phone-code = QR-Code dieser Seite

page-ask = Angaben für den Verkäufer
page-paymail = Paymail
page-paymail-hint = Zum Beispiel name@handcash.io
page-paymail-wrong = Eine Paymail sieht aus wie name@handcash.io. Bitte noch einmal prüfen.
page-email = E-Mail-Adresse
page-email-hint = Zum Beispiel name@example.org
page-email-wrong = Eine E-Mail-Adresse sieht aus wie name@example.org. Bitte noch einmal prüfen.
page-phoneNumber = Telefonnummer
page-phoneNumber-hint = Mit Landesvorwahl wie +49 30 23125 123
page-phoneNumber-wrong = Eine Telefonnummer hat 7 bis 15 Ziffern, etwa +49 30 23125 123. Bitte noch einmal prüfen.
page-wrong =
    { $count ->
        [one] Eine Angabe stimmt noch nicht.
       *[other] { $count } Angaben stimmen noch nicht.
    }
page-stale = Das Formular war nicht vollständig, deshalb wurde nichts bezahlt. Bitte noch einmal versuchen.
page-pay = { $amount } bezahlen
page-exchanged = Zu zahlen: { $amount } ({ $rate }; { $source }, { DATETIME($at, dateStyle: "medium") }).
page-manner = Wie das Testgeld ankommt
page-manner-atOnce = Sofort
page-manner-later = Ein paar Sekunden später
page-manner-twice = Sofort, aber doppelt gemeldet
page-manner-late = Zu spät, nach Ablauf der Reservierung
page-manner-never = Nie
page-pay-test = { $amount } Testgeld zahlen

page-scheduled = Noch nicht so weit
page-scheduled-why = Bezahlen ist ab dem unten genannten Zeitpunkt möglich. Schauen Sie bitte dann wieder vorbei.
page-expired = Zu spät
page-expired-why = Bezahlen war bis { DATETIME($at, dateStyle: "long", timeStyle: "short") } UTC möglich. Es wurde nichts abgebucht. Bei weiterem Interesse fragen Sie bitte den Verkäufer.
page-paused = Pausiert
page-paused-why = Der Verkäufer hat diesen Link pausiert. Es wurde nichts abgebucht.
page-completed = Schon bezahlt
page-completed-why = Hier konnte einmal bezahlt werden, und das ist geschehen. Mehr wird nicht abgebucht. Wenn die Zahlung nicht von Ihnen kam, fragen Sie bitte den Verkäufer.
page-soldOut = Ausverkauft
page-soldOut-why = Alles ist vergeben. Es wurde nichts abgebucht. Bei weiterem Interesse fragen Sie bitte den Verkäufer.
page-reserved-title = Die letzten werden gerade bezahlt
page-reserved-why = Was noch übrig ist, wird in diesem Moment bezahlt. Kommt eine Zahlung nicht zustande, wird wieder etwas frei: Schauen Sie in ein paar Minuten noch einmal nach.
page-unpriced = Gerade nicht möglich
page-unpriced-why = Der Preis lässt sich im Moment nicht in die Währung umrechnen, in der bezahlt wird. Es wurde nichts abgebucht. Bitte später noch einmal versuchen.
page-missing = Hier gibt es nichts zu bezahlen
page-missing-why = Unter dieser Adresse gibt es keinen Zahlungslink. Vielleicht wurde er gelöscht, oder die Adresse ist nicht vollständig. Bitte fragen Sie den Verkäufer nach einem neuen.

page-receipt = Bezahlt
page-receipt-title = Beleg: { $name }
page-receipt-thanks = Vielen Dank. Die Zahlung war erfolgreich.
page-receipt-what = Wofür
page-receipt-amount = Betrag
page-receipt-when = Zeitpunkt
page-receipt-at = { DATETIME($at, dateStyle: "long", timeStyle: "medium") } UTC
page-receipt-transaction = Transaktion
page-receipt-keep = Diese Seite am besten aufheben oder ausdrucken: Sie ist der Beleg.

page-receipt-paid = Gezahlt als
page-receipt-exchanged = { $amount } ({ $rate }; { $source }, { DATETIME($at, dateStyle: "medium") })
page-receipt-oversold = Als die Zahlung ankam, war nichts mehr übrig. Der Verkäufer weiß Bescheid und muss Ihnen das Geld zurückzahlen.

page-checkout-open = Warten auf die Zahlung
page-checkout-open-why = Bis { DATETIME($at, timeStyle: "medium") } UTC ist ein Stück für Sie reserviert. Sobald { $amount } eingegangen sind, geht es hier von selbst weiter.
page-checkout-open-free = Sobald { $amount } eingegangen sind, geht es hier von selbst weiter. Dafür ist bis { DATETIME($at, timeStyle: "medium") } UTC Zeit.
page-checkout-lapsed = Die Zeit zum Bezahlen ist um
page-checkout-lapsed-why = Bis { DATETIME($at, timeStyle: "medium") } UTC ist keine Zahlung eingegangen, deshalb gilt die Reservierung nicht mehr. Falls Sie schon bezahlt haben, zahlen Sie bitte nicht noch einmal: Sobald das Geld ankommt, steht es hier.
page-checkout-lapsed-free = Bis { DATETIME($at, timeStyle: "medium") } UTC ist keine Zahlung eingegangen. Falls Sie schon bezahlt haben, zahlen Sie bitte nicht noch einmal: Sobald das Geld ankommt, steht es hier.
page-checkout-cancelled = Abgebrochen
page-checkout-cancelled-why = Es wurde nichts abgebucht, und das für Sie reservierte Stück ist wieder frei. Falls Sie das Geld schon geschickt haben, zahlen Sie bitte nicht noch einmal: Sobald es ankommt, steht es hier.
page-checkout-cancelled-free = Es wurde nichts abgebucht. Falls Sie das Geld schon geschickt haben, zahlen Sie bitte nicht noch einmal: Sobald es ankommt, steht es hier.
page-checkout-oversold = Bezahlt, aber nichts mehr übrig
page-checkout-oversold-why = Als { $amount } eingingen, war nichts mehr übrig. Der Verkäufer weiß Bescheid und muss Ihnen das Geld zurückzahlen: Nennen Sie ihm dafür die Transaktion unten.
page-checkout-oversold-free = Als { $amount } eingingen, war schon bezahlt. Der Verkäufer weiß Bescheid und muss Ihnen das Geld zurückzahlen: Nennen Sie ihm dafür die Transaktion unten.
page-checkout-paid = In der Zahlungswährung
page-cancel = Zahlung abbrechen
page-again = Zurück zum Angebot
page-retry = Noch einmal versuchen

page-invalidBody = Das Formular war nicht lesbar
page-bodyTooLarge = Das Formular ist zu groß
page-unsupportedMediaType = Das Formular war nicht lesbar
page-rateLimited = Einen Moment bitte
page-methodNotAllowed = Das geht auf dieser Seite nicht
page-internal = Etwas ist schiefgegangen
page-unavailable = Einen Moment bitte
page-invalidBody-why = Es wurde nichts bezahlt. Bitte zurückgehen und noch einmal versuchen.
page-bodyTooLarge-why = Es wurde nichts bezahlt. Bitte zurückgehen und weniger eingeben.
page-unsupportedMediaType-why = Es wurde nichts bezahlt. Bitte zurückgehen und noch einmal versuchen.
page-unavailable-why = Diese Seite ist gerade nicht verfügbar. Bitte in ein paar Sekunden noch einmal versuchen: Es wird nichts doppelt bezahlt.
page-rateLimited-why =
    { $seconds ->
        [one] Das war viel auf einmal. Bitte in einer Sekunde noch einmal versuchen.
       *[other] Das war viel auf einmal. Bitte in { NUMBER($seconds) } Sekunden noch einmal versuchen.
    }
page-tooManyHolds = Zu viele offene Zahlungen
page-tooManyHolds-why =
    { $minutes ->
        [one] Aus Ihrem Netzwerk sind zu viele Zahlungen offen. Es wurde nichts abgebucht. Schließen Sie eine davon ab oder brechen Sie sie ab, oder versuchen Sie es in einer Minute noch einmal.
       *[other] Aus Ihrem Netzwerk sind zu viele Zahlungen offen. Es wurde nichts abgebucht. Schließen Sie eine davon ab oder brechen Sie sie ab, oder versuchen Sie es in { NUMBER($minutes) } Minuten noch einmal.
    }
page-methodNotAllowed-why = Bitte den Link noch einmal öffnen.
page-internal-why = Der Fehler liegt bei uns und ist notiert. Bevor Sie noch einmal bezahlen, fragen Sie bitte den Verkäufer, ob die Zahlung angekommen ist.
