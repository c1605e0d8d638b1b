# The pay page, the receipt and the pages that say why not.
# Payers are addressed as little as can be, else with "Sie".

page-title = { $name } – { $amount }
page-title-state = { $title }: { $name }
page-title-wrong = Bitte prüfen: { $name }
page-locale = de_DE
page-card = Preis und QR-Code für { $name }
page-test = Testmodus: Es wird kein echtes Geld abgebucht.
page-former = Ursprünglicher Preis:
page-more = Mehr dazu
page-left = { NUMBER($left) } von { NUMBER($total) } verfügbar
page-reserved =
    { $count ->
        [one] 1 weiteres Stück ist reserviert und wird gerade bezahlt.
       *[other] { NUMBER($count) } weitere sind reserviert und werden gerade bezahlt.
    }
page-opens = Beginn
page-ends = Ende
page-clock = { DATETIME($at, timeStyle: "short") } UTC
page-in-minutes = in { $minutes } Min. { $seconds } Sek.
page-in-seconds = in { $seconds } Sek.
page-phone = Scannen und mit dem Handy bezahlen
page-phone-code = QR-Code für diese Seite

page-sold-by = Verkauft von { $seller }
page-contact = Kontakt
page-contact-seller = Verkäufer kontaktieren
page-report = Melden
page-report-subject = Gemeldeter Link: { $url }
page-privacy = Datenschutz

page-ask = Angaben für den Verkäufer
page-paymail = Paymail
page-paymail-hint = Zum Beispiel name@handcash.io
page-paymail-empty = Bitte geben Sie Ihre Paymail ein.
page-paymail-wrong = Das sieht nicht nach einer Paymail aus. Richtig wäre zum Beispiel name@handcash.io.
page-email = E-Mail-Adresse
page-email-hint = Zum Beispiel name@example.org
page-email-empty = Bitte geben Sie Ihre E-Mail-Adresse ein.
page-email-wrong = Das sieht nicht nach einer E-Mail-Adresse aus. Richtig wäre zum Beispiel name@example.org.
page-phoneNumber = Telefonnummer
page-phoneNumber-hint = Mit Landesvorwahl, zum Beispiel +49 30 23125 123
page-phoneNumber-empty = Bitte geben Sie Ihre Telefonnummer ein.
page-phoneNumber-wrong = Das sieht nicht nach einer Telefonnummer aus. Sie sollte 7 bis 15 Ziffern haben, wie +49 30 23125 123.
page-wrong =
    { $count ->
        [one] Bitte 1 Angabe korrigieren.
       *[other] Bitte { $count } Angaben korrigieren.
    }
page-stale = Das Formular war nicht vollständig, deshalb wurde nichts abgebucht. Bitte noch einmal versuchen.
page-pay = { $amount } bezahlen
page-exchanged = Zu zahlen: { $amount } ({ $rate }; { $source }, { DATETIME($at, dateStyle: "medium") }).
page-manner = Wie das Testgeld ankommt
page-manner-atOnce = Sofort
page-manner-later = Nach ein paar Sekunden
page-manner-twice = Sofort, aber doppelt gemeldet
page-manner-late = Zu spät, nach Ablauf der Reservierung
page-manner-never = Nie
page-manner-underpaid = Zu wenig, nur die Hälfte
page-manner-claimed = Erst mit der Bestätigung des Verkäufers
page-pay-test = { $amount } Testgeld zahlen

page-the-seller = der Verkäufer
page-ways = Wie möchten Sie bezahlen?
page-way-lightning = Lightning
page-way-other = Lightning ({ $wallet })
page-way-sepa = Überweisung
page-way-pix = Pix
page-way-upi = UPI
page-way-swiss = QR-Rechnung (Schweiz)
page-way-lightning-how = Dauert nur Sekunden, mit jeder Lightning-Wallet.
page-way-tap-how = Mit jeder Lightning-Wallet; { $seller } bestätigt, sobald das Geld da ist.
page-way-sepa-how = Mit Ihrer Banking-App; { $seller } bestätigt, sobald das Geld da ist.
page-way-pix-how = Mit der App Ihrer Bank; { $seller } bestätigt, sobald das Geld da ist.
page-way-upi-how = Mit jeder UPI-App; { $seller } bestätigt, sobald das Geld da ist.
page-way-swiss-how = Mit Ihrer Banking-App; { $seller } bestätigt, sobald das Geld da ist.
page-way-about = ≈ { $amount }
page-way-unpriced =
    Der Preis lässt sich gerade nicht umrechnen. { $other ->
        [none] Bitte in ein paar Minuten noch einmal versuchen.
       *[other] Versuchen Sie es in ein paar Minuten noch einmal, oder bezahlen Sie per { $title }.
    }
page-way-gone = So können Sie gerade nicht mehr bezahlen. Es wurde nichts abgebucht. Bitte wählen Sie einen anderen Zahlungsweg.
page-rate = { $rate } ({ $source }, { $at })
page-by-lightning = Mit Lightning bezahlen
page-by-sepa = Per Überweisung bezahlen
page-by-pix = Mit Pix bezahlen
page-by-upi = Mit UPI bezahlen
page-by-swiss = Per QR‑Rechnung bezahlen

page-pending = Sie haben angegeben, das Geld für { $name } geschickt zu haben. { $seller } hat es noch nicht bestätigt.
page-view-claim = Ansehen
page-buy-another = Noch einmal kaufen
page-pay-again = Noch einmal zahlen
page-uncharged = Es wurde nichts abgebucht.
page-scheduled = Bald geöffnet
page-scheduled-why = Bezahlen ist noch nicht möglich. Bitte kommen Sie wieder, sobald dieser Link geöffnet ist.
page-expired = Abgelaufen
page-expired-why = Dieser Link ist am { $at } abgelaufen. Bei weiterem Interesse fragen Sie bitte den Verkäufer.
page-paused = Pausiert
page-paused-why = Der Verkäufer hat diesen Link pausiert. Bei weiterem Interesse fragen Sie bitte dort nach.
page-completed = Schon bezahlt
page-completed-why = Dieser Artikel ist bereits bezahlt. Wenn die Zahlung nicht von Ihnen kam und Sie Interesse haben, fragen Sie bitte den Verkäufer.
page-soldOut = Ausverkauft
page-soldOut-why =
    { $sold ->
        [0] Es ist nichts mehr da.
        [one] Das einzige Stück ist verkauft.
       *[other] Alle { NUMBER($sold) } sind verkauft.
    } Bei weiterem Interesse fragen Sie bitte den Verkäufer.
page-reserved-title = Reserviert
page-reserved-why =
    { $count ->
        [one] Für das letzte Stück läuft noch eine Zahlung. Kommt sie nicht an, wird es wieder frei: Schauen Sie später noch einmal vorbei.
       *[other] Für die letzten { NUMBER($count) } laufen noch Zahlungen. Kommt eine davon nicht an, wird wieder etwas frei: Schauen Sie später noch einmal vorbei.
    }
page-unpriced = Preis nicht verfügbar
page-unpriced-why = Der Preis lässt sich gerade nicht umrechnen. Bitte später noch einmal versuchen.
page-noPayoutAccount = Noch keine Zahlung möglich
page-noPayoutAccount-why = { $seller } kann noch keine Zahlungen annehmen. Es wurde nichts abgebucht. Bitte versuchen Sie es später noch einmal oder fragen Sie nach.
page-wayClosed = Gerade nicht möglich
page-wayClosed-why = Dieser Zahlungsweg ist nicht mehr verfügbar. Öffnen Sie den Link noch einmal: Dort steht, wie Sie bei { $seller } bezahlen können.
page-missing = Link nicht gefunden
page-missing-why = Unter dieser Adresse gibt es keinen Zahlungslink. Vielleicht wurde er gelöscht, oder die Adresse ist unvollständig. Bitte fragen Sie den Verkäufer nach einem neuen Link.

page-receipt = Bezahlt
page-receipt-title = Beleg: { $name }
page-receipt-thanks = Vielen Dank! Die Zahlung ist angekommen.
page-receipt-seller = Verkäufer
page-receipt-what = Artikel
page-receipt-save = Als PDF sichern
page-continue = Weiter zu { $host }
page-continue-in = Weiter in { $app }
page-continue-app = Weiter in der App „{ $app }“
page-receipt-keep = Das ist Ihr Beleg. Drucken Sie diese Seite aus oder sichern Sie sie als PDF, um ihn zu behalten.
page-receipt-oversold = Ihre Zahlung kam zu spät und zählt nicht als Kauf. Der Verkäufer weiß Bescheid und muss Ihnen das Geld erstatten.

page-receipt-by = Zahlungsart
page-receipt-rate = Wechselkurs
page-receipt-hash = Payment-Hash

page-held = Reservierung endet
page-awaited = Zeit zum Bezahlen endet
page-invoice-ends = Rechnung läuft ab
page-checkout-opening = Die Rechnung wird erstellt …
page-checkout-opening-why = Das dauert ein paar Sekunden. Die Rechnung erscheint hier von selbst.
page-checkout-open = Warten auf die Zahlung
page-checkout-open-why = Bis { $at } { $count ->
        [one] ist ein Stück
       *[other] sind { $count } Stück
    } für Sie reserviert. Diese Seite aktualisiert sich von selbst, sobald { $amount } eingegangen sind.
page-checkout-open-free = Diese Seite aktualisiert sich von selbst, sobald { $amount } eingegangen sind. Sie haben Zeit bis { $at }.
page-checkout-open-lightning = Scannen Sie den Code mit einer Lightning-Wallet, oder öffnen Sie ihn auf diesem Gerät. Die Rechnung gilt bis { $at }. Sobald Sie bezahlt haben, aktualisiert sich diese Seite von selbst.
page-checkout-open-tap = Scannen Sie den Code mit einer Lightning-Wallet, oder öffnen Sie ihn auf diesem Gerät. Tippen Sie nach dem Bezahlen bis { $at } auf „Ich habe bezahlt“.
page-checkout-open-bank = Scannen Sie den Code mit Ihrer Banking-App, oder kopieren Sie die Angaben. Kommen Sie dann zurück und tippen Sie bis { $at } auf „Ich habe das Geld gesendet“.
page-checkout-claimed = { $seller } muss noch bestätigen
page-checkout-claimed-why = Sie haben angegeben, dass Sie { $amount } gesendet haben. Sobald { $seller } das Geld findet, erscheint hier Ihr Beleg.
page-checkout-claimed-tap = Sie haben angegeben, dass Sie { $amount } bezahlt haben. Sobald { $seller } das Geld findet, erscheint hier Ihr Beleg.
page-claimed-help-tap = Dauert es länger als einen Tag? Dann hilft { $seller } weiter: Zeigen Sie dort die Zahlung in Ihrer Wallet.
page-checkout-claimed-bank = Sie haben angegeben, dass Sie { $amount } überwiesen haben. Sobald { $seller } das Geld auf dem Konto findet, erscheint hier Ihr Beleg. Eine Überweisung kann bis zum nächsten Werktag dauern.
page-claimed-help-bank = Dauert es länger? Dann hilft { $seller } weiter: Nennen Sie dort den Verwendungszweck { $reference }.
page-checkout-lapsed = Die Zeit ist um
page-checkout-ended = Diese Rechnung ist abgelaufen
page-checkout-lapsed-lightning = Bitte bezahlen Sie sie nicht mehr, sondern fordern Sie eine neue an. Falls Sie schon bezahlt haben, zahlen Sie bitte nicht noch einmal: Das Geld kann noch ankommen, und dann steht es hier.
page-checkout-lapsed-tap = Bitte bezahlen Sie sie nicht mehr, sondern fordern Sie eine neue an. Falls Sie schon bezahlt haben, tippen Sie auf „Ich habe bezahlt“, damit { $seller } nachsehen kann.
page-checkout-lapsed-bank = Ihre Zeit zum Bezahlen endete um { $at }. Falls Sie das Geld gesendet haben, tippen Sie auf „Ich habe das Geld gesendet“: { $count ->
        [one] Solange noch etwas da ist, reservieren wir wieder ein Stück für Sie,
       *[other] Solange noch genug da ist, reservieren wir wieder { $count } Stück für Sie,
    } bis { $seller } bestätigt. Falls nicht, fangen Sie bitte neu an.
page-checkout-lapsed-why = Bis { $at } ist keine Zahlung eingegangen, { $count ->
        [one] deshalb ist das Stück
       *[other] deshalb sind die { $count } Stück
    } wieder im Verkauf. Falls Sie schon bezahlt haben, zahlen Sie bitte nicht noch einmal: Das Geld kann noch ankommen, und dann steht es hier.
page-checkout-lapsed-free = Bis { $at } ist keine Zahlung eingegangen. Falls Sie schon bezahlt haben, zahlen Sie bitte nicht noch einmal: Das Geld kann noch ankommen, und dann steht es hier.
page-checkout-cancelled = Abgebrochen
page-checkout-cancelled-why = Es wurde nichts abgebucht, { $count ->
        [one] und das Stück ist
       *[other] und die { $count } Stück sind
    } wieder im Verkauf. Falls Sie das Geld schon geschickt haben, zahlen Sie bitte nicht noch einmal: Es kann noch ankommen, und dann steht es hier.
page-checkout-cancelled-free = Es wurde nichts abgebucht. Falls Sie das Geld schon geschickt haben, zahlen Sie bitte nicht noch einmal: Es kann noch ankommen, und dann steht es hier.
page-checkout-cancelled-lightning = Bitte bezahlen Sie die Rechnung nicht mehr. Falls Sie schon bezahlt haben, zahlen Sie bitte nicht noch einmal: Das Geld kann noch ankommen, und dann steht es hier.
page-checkout-cancelled-tap = Bitte bezahlen Sie die Rechnung nicht mehr. Falls Sie schon bezahlt haben, hilft { $seller } weiter: Zeigen Sie dort die Zahlung in Ihrer Wallet.
page-checkout-cancelled-bank = Bitte senden Sie das Geld nicht mehr. Falls Sie es schon gesendet haben, hilft { $seller } weiter: Nennen Sie dort den Verwendungszweck { $reference }.
page-checkout-failed = Keine Rechnung erhalten
page-checkout-failed-slow = Die Wallet des Verkäufers hat nicht rechtzeitig geantwortet. Es wurde nichts abgebucht. Bitte in einer Minute noch einmal versuchen.
page-checkout-failed-refused = Die Wallet des Verkäufers hat keine Rechnung ausgestellt. Es wurde nichts abgebucht. Bitte in ein paar Minuten noch einmal versuchen oder den Verkäufer fragen.
page-checkout-failed-lied = Die Wallet des Verkäufers hat eine Rechnung geschickt, die nicht zu dieser Zahlung passt. Deshalb zeigen wir sie nicht. Es wurde nichts abgebucht. Bitte sagen Sie dem Verkäufer Bescheid.
page-checkout-failed-tooSmall = { $amount } sind weniger, als die Wallet des Verkäufers annehmen kann. Es wurde nichts abgebucht. Bitte fragen Sie den Verkäufer.
page-checkout-failed-tooLarge = { $amount } sind mehr, als die Wallet des Verkäufers gerade annehmen kann. Es wurde nichts abgebucht. Bitte fragen Sie den Verkäufer.
page-checkout-rejected = { $seller } hat Ihre Zahlung nicht gefunden
page-checkout-rejected-why = Falls Sie { $amount } gesendet haben, melden Sie sich beim Verkäufer. Sobald das Geld gefunden ist, erscheint hier Ihr Beleg. Falls nicht, können Sie noch einmal bezahlen.
page-checkout-rejected-tap = Falls Sie { $amount } bezahlt haben, melden Sie sich beim Verkäufer und zeigen Sie die Zahlung in Ihrer Wallet. Sobald das Geld gefunden ist, erscheint hier Ihr Beleg. Falls nicht, können Sie noch einmal bezahlen.
page-checkout-rejected-bank = Falls Sie { $amount } gesendet haben, melden Sie sich mit dem Verwendungszweck { $reference } und der Bestätigung Ihrer Bank beim Verkäufer. Sobald das Geld gefunden ist, erscheint hier Ihr Beleg. Falls nicht, können Sie noch einmal bezahlen.
page-checkout-unconfirmed = { $seller } hat nicht bestätigt
page-checkout-unconfirmed-why = Sie haben angegeben, dass Sie { $amount } gesendet haben, aber { $seller } hat das nicht rechtzeitig bestätigt. Deshalb { $count ->
        [one] ist nichts mehr
       *[other] sind die { $count } Stück nicht mehr
    } für Sie reserviert. Falls Sie das Geld gesendet haben, zahlen Sie bitte nicht noch einmal, sondern melden Sie sich dort: Ihre Zahlung lässt sich noch bestätigen oder erstatten.
page-checkout-unconfirmed-tap = Sie haben angegeben, dass Sie { $amount } bezahlt haben, aber { $seller } hat das nicht rechtzeitig bestätigt. Deshalb { $count ->
        [one] ist nichts mehr
       *[other] sind die { $count } Stück nicht mehr
    } für Sie reserviert. Falls Sie bezahlt haben, zahlen Sie bitte nicht noch einmal: Tippen Sie auf „Ich habe bezahlt“, um noch einmal nachzufragen, oder melden Sie sich dort.
page-checkout-unconfirmed-bank = Sie haben angegeben, dass Sie { $amount } gesendet haben, aber { $seller } hat das nicht rechtzeitig bestätigt. Deshalb { $count ->
        [one] ist nichts mehr
       *[other] sind die { $count } Stück nicht mehr
    } für Sie reserviert. Falls Sie das Geld gesendet haben, zahlen Sie bitte nicht noch einmal: Tippen Sie auf „Ich habe das Geld gesendet“, um noch einmal nachzufragen, oder melden Sie sich dort.
page-checkout-underpaid = { $paid } von { $amount } eingegangen
page-checkout-underpaid-why = Das ist weniger als der Preis, deshalb ist der Kauf nicht abgeschlossen. Bitte senden Sie den Rest nicht nach. Inzwischen weiß { $seller } Bescheid und kann Ihnen das Geld erstatten oder es so annehmen. Nennen Sie dafür die Transaktionsnummer unten.
page-checkout-oversold = Erstattung steht aus
page-checkout-oversold-why = Als { $amount } eingingen, war Ihre Bestellung nicht mehr verfügbar. Der Verkäufer weiß Bescheid und muss Ihnen das Geld erstatten. Nennen Sie ihm dafür die Transaktionsnummer unten.
page-checkout-oversold-free = Als { $amount } eingingen, hatten Sie schon bezahlt. Der Verkäufer weiß Bescheid und muss Ihnen das Geld erstatten. Nennen Sie ihm dafür die Transaktionsnummer unten.
page-checkout-paid = Zu zahlen
page-cancel = Zahlung abbrechen
page-other-way = Anders bezahlen
page-new-invoice = Neue Rechnung anfordern
page-open-wallet = In der Wallet öffnen
page-open-upi = In der UPI-App öffnen
page-copy = Kopieren
page-copied = Kopiert
page-code-lightning = QR-Code mit der Lightning-Rechnung
page-code-sepa = QR-Code für die Überweisung (GiroCode)
page-code-pix = Pix-QR-Code
page-code-upi = UPI-QR-Code
page-code-swiss = Swiss QR Code
page-field-invoice = Lightning-Rechnung
page-field-holder = Empfänger
page-field-iban = IBAN
page-field-bic = BIC
page-field-amount = Betrag
page-field-key = Pix-Schlüssel
page-field-city = Ort
page-field-id = UPI-ID
page-field-address = Adresse
page-field-code = Pix-Code (zum Einfügen)
page-reference-hint = Bitte genau so in die Überweisung eintragen: Daran erkennt { $seller } Ihre Zahlung.
page-sent = Ich habe das Geld gesendet
page-sent-tap = Ich habe bezahlt
page-sent-then = Danach prüft und bestätigt { $seller } die Zahlung.
page-sent-held = Danach prüft und bestätigt { $seller } die Zahlung. Bis dahin { $count ->
        [one] bleibt ein Stück
       *[other] bleiben { $count } Stück
    } für Sie reserviert.
page-sent-unheld = Danach prüft und bestätigt { $seller } die Zahlung. Auch andere Zahlungen warten darauf, deshalb endet Ihre Reservierung zur angezeigten Zeit. { $count ->
        [one] Ist dann nichts mehr da,
       *[other] Ist dann nicht mehr genug da,
    } erhalten Sie Ihr Geld von { $seller } zurück.
page-claimed-unheld = Auch andere Zahlungen müssen noch bestätigt werden. Deshalb können wir { $count ->
        [one] nichts
       *[other] die { $count } Stück nicht
    } für Sie zurücklegen, bis { $seller } nachgesehen hat. { $count ->
        [one] Ist dann nichts mehr da,
       *[other] Ist dann nicht mehr genug da,
    } erhalten Sie Ihr Geld von { $seller } zurück.
page-claimed-at = Von Ihnen gemeldet
page-held-until = Für Sie reserviert bis
page-claimed-emailed = Sie können diese Seite schließen. Wir schreiben Ihnen eine E-Mail, sobald { $seller } nachgesehen hat.
page-claimed-kept = Sie können diese Seite schließen. Bewahren Sie diese Adresse auf, um später nachzusehen.
page-field-link = Adresse dieser Seite
page-payment-data = Zahlungsdaten
page-claim-none = { $count ->
        [one] Es ist nichts mehr
       *[other] Es ist nicht mehr genug
    } für Sie frei
page-claim-none-why = { $count ->
        [one] Inzwischen ist alles verkauft oder für andere reserviert.
       *[other] Inzwischen ist so viel verkauft oder für andere reserviert, dass es nicht mehr reicht.
    } Falls Sie das Geld gesendet haben, hilft { $seller } weiter: Nennen Sie dort den Verwendungszweck { $reference }. Ihre Zahlung lässt sich noch bestätigen oder erstatten.
page-again = Zurück zur Zahlung
page-restart = Neu beginnen
page-retry = Noch einmal versuchen

page-invalidBody = Das Formular war nicht lesbar
page-bodyTooLarge = Das ist zu viel Text
page-unsupportedMediaType = Das Formular war nicht lesbar
page-rateLimited = Einen Moment bitte
page-methodNotAllowed = Das geht hier nicht
page-crossSite = Das kam von einer anderen Website
page-internal = Etwas ist schiefgegangen
page-unavailable = Vorübergehend nicht verfügbar
page-invalidBody-why = Es wurde nichts abgebucht. Bitte zurückgehen und noch einmal versuchen.
page-bodyTooLarge-why = Es wurde nichts abgebucht. Bitte zurückgehen und weniger eingeben.
page-unsupportedMediaType-why = Es wurde nichts abgebucht. Bitte zurückgehen und noch einmal versuchen.
page-unavailable-why = Diese Seite ist gerade nicht verfügbar. Bitte in ein paar Sekunden noch einmal versuchen: Es wird nichts doppelt abgebucht.
page-rateLimited-why =
    { $seconds ->
        [one] Aus Ihrem Netzwerk kamen zu viele Anfragen. Bitte in einer Sekunde noch einmal versuchen.
       *[other] Aus Ihrem Netzwerk kamen zu viele Anfragen. Bitte in { NUMBER($seconds) } Sekunden noch einmal versuchen.
    }
page-tooManyHolds = Zu viele offene Zahlungen
page-tooManyHolds-why =
    { $minutes ->
        [one] Aus Ihrem Netzwerk sind zu viele Zahlungen offen. Es wurde nichts abgebucht. Schließen Sie eine davon ab oder brechen Sie sie ab, oder versuchen Sie es in einer Minute noch einmal.
       *[other] Aus Ihrem Netzwerk sind zu viele Zahlungen offen. Es wurde nichts abgebucht. Schließen Sie eine davon ab oder brechen Sie sie ab, oder versuchen Sie es in { NUMBER($minutes) } Minuten noch einmal.
    }
page-methodNotAllowed-why = Bitte den Link noch einmal öffnen.
page-crossSite-why = Eine andere Website hat dieses Formular abgeschickt. Deshalb ist nichts passiert, es wurde nichts abgebucht. Bitte öffnen Sie den Link selbst und versuchen Sie es dort noch einmal.
page-internal-why = Der Fehler liegt bei uns und ist protokolliert. Bevor Sie noch einmal bezahlen, fragen Sie bitte den Verkäufer, ob die Zahlung angekommen ist.

# What the pages store about payers.

page-private = Datenschutz
page-private-lead = Was wir über Sie speichern, wenn Sie einen Zahlungslink bei { $host } öffnen oder bezahlen.
page-private-typed = Was Sie eingeben
page-private-typed-why = Wenn der Verkäufer nach einer Paymail, einer E-Mail-Adresse oder einer Telefonnummer fragt, speichern wir sie mit der Zahlung, und der Verkäufer bekommt sie. Dasselbe gilt für einen Namen oder eine Nachricht, wenn Sie freiwillig etwas hinzufügen. An die E-Mail-Adresse schicken wir eventuell den Beleg. Nach mehr fragen wir nicht.
page-private-cookie = Ein Cookie
page-private-cookie-why = Es unterscheidet Ihre Zahlungen von denen anderer, damit niemand alles auf einmal reservieren kann. Es ist eine Zufallszahl ohne Ihren Namen, und Ihr Browser löscht es nach { $minutes } Minuten. Es gibt kein Tracking und keine Werbung.
page-private-address = Ihre IP-Adresse
page-private-address-why = Während Sie bezahlen, speichern wir sie aus demselben Grund als Hash: einen Code, aus dem niemand die Adresse zurückrechnen kann. Wir löschen ihn, sobald nichts mehr für Sie reserviert ist: wenn Sie bezahlt oder abgebrochen haben oder die Zeit zum Bezahlen um ist. Muss der Verkäufer die Zahlung bestätigen, ist das der Fall, wenn er entschieden hat.
page-private-pictures = Bilder von anderen Websites
page-private-pictures-why = Die Bilder eines Verkäufers können auf einer anderen Website liegen. Sie sieht Ihre IP-Adresse, wenn Ihr Browser die Bilder lädt, erfährt aber nicht, auf welcher Seite Sie sind.
page-private-time = Wie lange wir es behalten
page-private-time-why = Was Sie eingegeben haben, bleibt bei der Zahlung, bis der Betreiber dieser Website es löscht. Bitten Sie ihn darum, wenn Sie das möchten. Betrag, Datum und Transaktionsnummer bleiben als Nachweis des Verkaufs.
page-private-who = Wer es sieht
page-private-who-why = Der Verkäufer und der Betreiber dieser Website. Ihren Beleg kann jeder öffnen, der seine Adresse hat, deshalb zeigt er Ihre Angaben nur zum Teil und Ihre Nachricht gar nicht. Was Sie gekauft haben, zeigt er.
page-private-ask = Fragen? Wenden Sie sich an den Betreiber dieser Website:
