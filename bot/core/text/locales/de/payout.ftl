# Wohin das Geld geht: Empfangskonten, bei echtem Geld. HTML und Werte wie in chat.ftl.

command-getpaid = Wohin dein Geld geht
button-payout = 💶 Wohin dein Geld geht
button-payout-connect = 💶 Konto verbinden
button-payout-settings = ⚙ Einstellungen
button-payout-later = Später
button-payout-bank = 🏦 Überweisung
button-payout-lightning = ⚡ Lightning-Adresse
button-payout-lnbits = 🧩 Mein LNbits
button-payout-nwc = 🔗 Wallet-Verbindung
button-payout-alby = 🐝 In Alby Hub anlegen
button-payout-another = ➕ { $kind }
button-payout-account =
    { $kind ->
        [lightning] ⚡
        [lnbits] 🧩
        [nwc] 🔗
       *[bank] { $way }:
    } { $label }
button-payout-replace = ✏ Ersetzen
button-payout-remove-yes = Ja, entfernen
button-payout-save = ✅ Speichern
button-payout-change = ✏ Ändern

## Die Seiten

payout-test =
    <b>Hier gibt es nichts zu verbinden.</b>
    Dieser Bot läuft mit Testgeld: Man kann alles ausprobieren, und niemandem wird wirklich etwas abgebucht.
payout-elsewhere =
    <b>Hier gibt es nichts zu verbinden.</b>
    Dein Geld läuft über <b>{ $host }</b>. Deine Empfangsadresse dort findest du unter /settings.
payout-page-none =
    <b>Wohin soll dein Geld gehen?</b>
    Das Geld geht direkt an dich. Ich habe es nie in der Hand.
payout-page =
    <b>Hierhin geht dein Geld</b>
    Das Geld geht direkt an dich. Ich habe es nie in der Hand. Passen mehrere Konten zu einem Preis, kann man wählen; das erste ist vorausgewählt.
payout-connect = <b>Das kannst du verbinden</b>
payout-first =
    <b>Wohin soll das Geld gehen?</b>
    Das Geld geht direkt an dich. Verbinde einmal ein Konto, dann gilt es für alle deine Zahlungslinks.
payout-about-bank = 🏦 <b>Überweisung</b>: mit IBAN, Pix-Schlüssel oder UPI-ID. Meist kostenlos. Du bestätigst jede Zahlung mit einem Tipp.
payout-about-lightning = ⚡ <b>Lightning-Adresse</b>: wie <code>anna@example.org</code>, aus einer Bitcoin-Wallet. Sie kann etwas kosten. Die meisten melden Zahlungen von selbst.
payout-about-lnbits = 🧩 <b>Mein LNbits</b>: dein Server und der Rechnungsschlüssel, der nichts ausgeben kann. Der Server kann etwas kosten und meldet Zahlungen von selbst.
payout-about-nwc = 🔗 <b>Wallet-Verbindung</b>: nur zum Empfangen, etwa aus Alby Hub. Die Wallet kann etwas kosten und meldet Zahlungen von selbst.
payout-schemes =
    <b>Was für ein Konto ist es?</b>
    • <b>SEPA</b>: Preise in Euro. Braucht eine IBAN.
    • <b>Pix</b>: Preise in brasilianischen Real. Braucht einen Pix-Schlüssel.
    • <b>UPI</b>: Preise in indischen Rupien. Braucht eine UPI-ID.
    • <b>Schweizer QR-Rechnung</b>: Preise in Franken oder Euro. Braucht eine Schweizer IBAN und deine Anschrift.
payout-way-bank-sepa = 🏦 SEPA-Konto
payout-way-bank-pix = 🏦 Pix
payout-way-bank-upi = 🏦 UPI
payout-way-bank-swiss = 🏦 QR-Rechnung
payout-way-lightning = ⚡ Lightning-Adresse
payout-way-lnbits = 🧩 LNbits
payout-way-nwc = 🔗 Wallet-Verbindung
payout-line = { $way } <code>{ $label }</code> (du bestätigst jede Zahlung)
payout-line-auto = { $way } <code>{ $label }</code>
payout-account =
    <b>{ $way }</b>
    <code>{ $label }</code>
payout-automatic = ✅ Deine Wallet meldet jede Zahlung von selbst.
payout-by-hand = 👆 Du siehst auf deinem Konto nach und bestätigst jede Zahlung mit einem Tipp.
payout-by-hand-wallet = 👆 Diese Wallet meldet keine Zahlungen. Du siehst dort nach und bestätigst jede mit einem Tipp.
payout-settings =
    <b>Einstellungen</b>
    Hierhin geht dein Geld:
payout-settings-none =
    <b>Einstellungen</b>
    Noch kann dir niemand etwas zahlen: Du hast kein Konto verbunden.

## Das Formular

payout-ask-bank-sepa-iban =
    <b>Wie lautet deine IBAN?</b>
    Sie steht in deiner Banking-App. Zum Beispiel: <code>DE89 3704 0044 0532 0130 00</code>
payout-ask-bank-sepa-name =
    <b>Wem gehört das Konto?</b>
    Schreib den Namen genau so, wie ihn deine Bank schreibt. Die Bank der Zahlenden vergleicht ihn mit der IBAN und warnt sie, wenn er abweicht.
payout-ask-bank-sepa-bic =
    <b>Wie lautet der BIC deiner Bank?</b>
    Die Bank der Zahlenden braucht ihn, weil deine IBAN von außerhalb des Europäischen Wirtschaftsraums stammt. Er steht in deiner Banking-App bei der IBAN und heißt auch SWIFT-Code. Zum Beispiel: <code>NWBKGB2L</code>
payout-ask-bank-pix-key =
    <b>Wie lautet dein Pix-Schlüssel?</b>
    CPF, CNPJ, Telefonnummer, E-Mail-Adresse oder Zufallsschlüssel.
payout-ask-bank-pix-name =
    <b>Wem gehört das Konto?</b>
    Schreib den Namen so, wie ihn deine Bank schreibt. Zahlende sehen ihn, bevor sie zahlen.
payout-ask-bank-pix-city =
    <b>In welcher Stadt bist du?</b>
    Sie steht im Pix-Code. Zum Beispiel: <code>São Paulo</code>
payout-ask-bank-upi-id =
    <b>Wie lautet deine UPI-ID?</b>
    Zum Beispiel: <code>anna@okbank</code>
payout-ask-bank-upi-name =
    <b>Wem gehört das Konto?</b>
    Schreib den Namen so, wie ihn deine Bank schreibt. Zahlende sehen ihn, bevor sie zahlen.
payout-ask-bank-swiss-iban =
    <b>Wie lautet deine IBAN aus der Schweiz oder Liechtenstein?</b>
    Zum Beispiel: <code>CH93 0076 2011 6238 5295 7</code>
payout-ask-bank-swiss-name =
    <b>Wem gehört das Konto?</b>
    Schreib den Namen genau so, wie ihn deine Bank schreibt.
payout-ask-bank-swiss-street =
    <b>Wie heißt deine Straße?</b>
    Auf einer QR-Rechnung steht die Anschrift: Zahlende sehen sie. Die Hausnummer kommt danach.
payout-ask-bank-swiss-houseNumber = <b>Welche Hausnummer?</b>
payout-ask-bank-swiss-postalCode = <b>Welche Postleitzahl?</b>
payout-ask-bank-swiss-town = <b>Welcher Ort?</b>
payout-ask-bank-swiss-country =
    <b>Welches Land?</b>
    Wähle unten, oder schreib das Kürzel aus zwei Buchstaben, zum Beispiel <code>CH</code>.
payout-ask-lightning-address =
    <b>Wie lautet deine Lightning-Adresse?</b>
    Sie sieht aus wie eine E-Mail-Adresse und steht in deiner Wallet unter „Empfangen“. Zum Beispiel: <code>anna@example.org</code>
payout-ask-lnbits-url =
    <b>Wo ist dein LNbits?</b>
    Schreib die Adresse des Servers, zum Beispiel <code>https://lnbits.example.org</code>.
payout-ask-lnbits-key =
    <b>Wie lautet der Rechnungsschlüssel deiner Wallet?</b>
    Öffne die Wallet in LNbits. Unter „Knoten-URL, API-Schlüssel und API-Dokumentation“ findest du den <b>Invoice/read key</b>: Das ist der Rechnungsschlüssel. Gib den Admin-Schlüssel niemandem: Mit ihm lässt sich Geld ausgeben.
    Ich lösche deine Nachricht, sobald ich sie gelesen habe.
payout-ask-nwc-connection =
    <b>Wie lautet der Verbindungstext?</b>
    Lege in deiner Wallet eine Verbindung an, die nur empfangen kann, und schick mir den Text, der mit <code>nostr+walletconnect://</code> beginnt.
    Nutzt du Alby Hub? Dann tippe unten auf den Knopf: Das Formular ist schon ausgefüllt. Bestätige es und kopiere den Text, den du danach siehst.
    Ich lösche deine Nachricht, sobald ich sie gelesen habe.
payout-checking = ⏳ Ich prüfe das. Es kann eine halbe Minute dauern.
payout-saving = ⏳ Ich speichere …
payout-found = <b>Das klappt. Soll ich es speichern?</b>
payout-found-replaces = Es ersetzt <code>{ $label }</code>.

## Was an einer Antwort oder am Dienst nicht stimmte

problem-payout-empty = ⚠ Darin finde ich keinen Text. Bitte schreib es noch einmal.
problem-payout-long = ⚠ Das sind { $length } Zeichen, möglich sind { $most }. Bitte kürze es.
payout-wrong-missing = ⚠ Hier fehlt noch etwas. Bitte schreib es noch einmal.
payout-wrong-tooLong = ⚠ Das ist zu lang. Bitte kürze es.
payout-wrong-invisible = ⚠ Darin sind unsichtbare Zeichen. Bitte tippe es ab, statt es einzufügen.
payout-wrong-notLatin = ⚠ Im Code für die Banking-App sind nur lateinische Buchstaben möglich. Bitte nimm die lateinische Schreibweise, die deine Bank verwendet.
payout-wrong-unknownField = ⚠ Der Zahlungsdienst kennt eine dieser Angaben nicht. Bitte fang mit /getpaid noch einmal an.
payout-wrong-unknownScheme = ⚠ Diese Art von Konto nimmt der Zahlungsdienst nicht an. Bitte wähle eine andere.
payout-wrong-ibanForm = ⚠ Das ist keine IBAN. Sie beginnt mit zwei Buchstaben und zwei Ziffern, zum Beispiel <code>DE89 3704 0044 0532 0130 00</code>.
payout-wrong-ibanCountry = ⚠ In keinem Land beginnt eine IBAN so. Bitte vergleiche sie mit deiner Banking-App.
payout-wrong-ibanLength = ⚠ Diese IBAN ist für ihr Land zu lang oder zu kurz. Bitte vergleiche sie mit deiner Banking-App.
payout-wrong-ibanTypo = ⚠ In dieser IBAN ist ein Tippfehler: Die Prüfziffern passen nicht. Bitte vergleiche sie mit deiner Banking-App.
payout-wrong-ibanLetters = ⚠ In dieser IBAN stehen Buchstaben oder Ziffern an der falschen Stelle. Bitte vergleiche sie mit deiner Banking-App.
payout-wrong-notSepa = ⚠ Konten in diesem Land können keine SEPA-Überweisungen empfangen. Bitte nimm ein Konto, das das kann.
payout-wrong-notSwiss = ⚠ Diese IBAN ist nicht aus der Schweiz oder Liechtenstein. Sie muss mit CH oder LI beginnen. Für andere IBANs geh zurück und wähle SEPA.
payout-wrong-qrIban = ⚠ Das ist eine QR-IBAN. Sie gilt nur für Rechnungen mit QR-Referenz. Nimm die normale IBAN desselben Kontos; sie steht auf deinem Kontoauszug.
payout-wrong-name = ⚠ Das ist eine IBAN. Bitte schreib den Namen der Person, der das Konto gehört.
payout-wrong-bicForm = ⚠ Das ist kein BIC. Er hat 8 oder 11 Buchstaben und Ziffern.
payout-wrong-pixKey = ⚠ Das ist kein Pix-Schlüssel. Möglich sind CPF, CNPJ, eine Telefonnummer mit <code>+55</code>, eine E-Mail-Adresse oder ein Zufallsschlüssel.
payout-wrong-pixCpf = ⚠ Das ist keine CPF: Die Prüfziffern passen nicht. Ist es eine Telefonnummer, beginne mit <code>+55</code>.
payout-wrong-pixEmail = ⚠ Das ist keine E-Mail-Adresse. Schreib den Schlüssel so, wie ihn deine Banking-App zeigt.
payout-wrong-pixPhone = ⚠ Das ist keine brasilianische Telefonnummer. Schreib sie so: <code>+55 11 98765-4321</code>.
payout-wrong-upiForm = ⚠ Das ist keine UPI-ID. Schreib eine wie <code>anna@okbank</code>.
payout-wrong-countryForm = ⚠ Bitte schreib das Kürzel des Landes aus zwei Buchstaben, zum Beispiel <code>CH</code>.
payout-wrong-addressForm = ⚠ Das ist keine Lightning-Adresse. Schreib eine wie <code>anna@example.org</code>.
payout-wrong-addressPort = ⚠ Eine Lightning-Adresse hat keine Zahl hinter einem Doppelpunkt. Bitte lass sie weg.
payout-wrong-lnurl = ⚠ Das ist ein LNURL-Code. Ich brauche deine Lightning-Adresse, zum Beispiel <code>anna@example.org</code>.
payout-wrong-invoice = ⚠ Das ist eine Rechnung oder ein Angebot. Ich brauche deine Lightning-Adresse, zum Beispiel <code>anna@example.org</code>.
payout-wrong-noSuchAddress = ⚠ Diese Lightning-Adresse gibt es nicht. Bitte prüfe, ob du dich vertippt hast.
payout-wrong-notLnurl = ⚠ Dieser Server antwortet nicht wie eine Lightning-Wallet. Bitte prüfe, was hinter dem @ steht, oder nimm eine andere Wallet.
payout-wrong-wrongInvoice = ⚠ Zur Probe habe ich dort eine kleine Rechnung angefordert, und die Antwort war falsch. Versuch es später noch einmal, oder nimm eine andere Wallet.
payout-wrong-urlForm = ⚠ Mit dieser Webadresse kann ich nichts anfangen. Schreib eine wie <code>https://lnbits.example.org</code>.
payout-wrong-keyForm = ⚠ Das ist kein Schlüssel von LNbits. Kopiere den ganzen <b>Invoice/read key</b>; er hat keine Leerzeichen.
payout-wrong-unknownKey = ⚠ Dein LNbits kennt diesen Schlüssel nicht. Kopiere den <b>Invoice/read key</b> deiner Wallet; er steht unter „Knoten-URL, API-Schlüssel und API-Dokumentation“.
payout-wrong-spendingKey = ⚠ Mit diesem Schlüssel lässt sich dein Geld ausgeben, deshalb verwende ich ihn nicht. Schick mir stattdessen den <b>Invoice/read key</b>; er steht gleich darunter.
payout-wrong-notLnbits = ⚠ Unter dieser Adresse gibt es kein LNbits. Bitte prüfe sie.
payout-wrong-lnbitsMoved = ⚠ Dein LNbits ist umgezogen: Es leitet mich an eine andere Adresse weiter, und dorthin schicke ich deinen Schlüssel nicht. Öffne dein LNbits im Browser und schick mir die Adresse, bei der du landest.
payout-wrong-connectionForm = ⚠ Das ist kein vollständiger Verbindungstext. Kopiere ihn ganz aus deiner Wallet; er beginnt mit <code>nostr+walletconnect://</code>.
payout-connection-elsewhere = ⚠ Das ist der Schlüssel zu einer Wallet, deshalb verwende ich ihn hier nicht. Damit dein Geld in dieser Wallet ankommt, öffne /getpaid und drück auf <b>Wallet-Verbindung</b>.
payout-wrong-relayPrivate = ⚠ Diese Verbindung läuft über ein Relay, das von hier aus nicht erreichbar ist. Nimm eine Wallet mit einem öffentlichen Relay.
payout-wrong-relayPlain = ⚠ Diese Verbindung läuft über ein Relay ohne Verschlüsselung. Nimm eine Wallet, deren Relay-Adresse mit <code>wss://</code> beginnt.
payout-wrong-spendingConnection = ⚠ Mit dieser Verbindung lässt sich dein Geld auch ausgeben, deshalb verwende ich sie nicht. Entferne sie in deiner Wallet und lege eine an, die nur Rechnungen erstellen und nachsehen darf. Kann deine Wallet das nicht, verbinde stattdessen ihre Lightning-Adresse.
payout-wrong-receivesNothing = ⚠ Diese Verbindung darf keine Rechnungen erstellen und nachsehen. Lege in deiner Wallet eine an, die genau das darf und sonst nichts.
payout-wrong-rightsUnknown = ⚠ Deine Wallet verrät nicht, was diese Verbindung darf. Erlaube ihr, die Angaben zur Wallet zu lesen (<code>get_info</code>), und versuch es dann noch einmal.
payout-wrong-testNetwork = ⚠ Diese Wallet läuft in einem Testnetz. Verbinde eine, die echte Bitcoin empfängt.
payout-wrong-connectionEnded = ⚠ Deine Wallet nimmt diese Verbindung nicht mehr an. Lege eine neue an und schick mir die.
payout-wrong-walletSilent = ⚠ Deine Wallet hat nicht geantwortet. Sieh nach, ob sie online ist und die Verbindung dort noch steht, und versuch es dann noch einmal.
payout-wrong-walletBusy = ⚠ Deine Wallet ist gerade überlastet. Bitte versuch es in einer Minute noch einmal.
payout-wrong-walletUnreadable = ⚠ Mit der Antwort deiner Wallet kann ich nichts anfangen. Aktualisiere die Wallet, oder nimm eine andere.
payout-wrong-walletFailed = ⚠ Deine Wallet hat einen Fehler gemeldet. Bitte versuch es später noch einmal.
payout-wrong-hostPrivate = ⚠ Dieser Server ist nicht öffentlich erreichbar, deshalb komme ich nicht hin. Nimm einen anderen, oder bitte den Betreiber dieses Bots, ihn zuzulassen.
payout-wrong-hostUnknown = ⚠ Diesen Server finde ich nicht. Bitte prüfe, ob die Adresse richtig geschrieben ist. Stimmt sie, versuch es später noch einmal.
payout-wrong-hostUnsafe = ⚠ Der Server deiner Wallet hat kein gültiges Sicherheitszertifikat, deshalb vertraue ich ihm nicht. Beheben kann das nur sein Betreiber. Du kannst auch eine andere Wallet nehmen.
payout-wrong-hostClosed = ⚠ Der Server deiner Wallet nimmt keine Verbindung an. Vielleicht ist er gerade ausgefallen: Prüfe die Adresse, oder versuch es später noch einmal.
payout-wrong-hostSilent = ⚠ Der Server deiner Wallet hat nicht rechtzeitig geantwortet. Bitte versuch es später noch einmal.
payout-wrong-hostBusy = ⚠ Der Server deiner Wallet ist gerade überlastet. Bitte versuch es in einer Minute noch einmal.
payout-wrong-hostBroken = ⚠ Der Server deiner Wallet hat eine Störung. Bitte versuch es später noch einmal.
payout-wrong-hostDenies = ⚠ Der Server deiner Wallet lässt mich nicht hinein. Prüfe die Adresse, frag seinen Betreiber, oder nimm eine andere Wallet.
payout-wrong-hostMoved = ⚠ Der Server deiner Wallet leitet mich an eine Adresse weiter, die ich nicht nutzen kann. Frag deine Wallet nach deiner aktuellen Lightning-Adresse, oder nimm eine andere Wallet.
payout-wrong-hostSays = ⚠ Das hat nicht geklappt. Die Antwort deiner Wallet im Original: { $message }
payout-refused = ⚠ Das hat nicht geklappt. Die Antwort des Zahlungsdienstes im Original: { $message }
payout-waiting = Der Zahlungsdienst antwortet nicht. Ich versuche es eine Stunde lang weiter und sage dir Bescheid. Du musst nichts tun.
payout-given-up = ⚠ Der Zahlungsdienst hat nicht geantwortet, deshalb wurde nichts geändert. Bitte versuch es später noch einmal.
payout-closed = ⚠ Der Zahlungsdienst lässt diesen Bot nicht hinein, deshalb wurde nichts geändert. Beheben kann das nur der Betreiber dieses Bots.

## Was sich geändert hat

payout-saved =
    ✅ <b>Verbunden.</b> Ab jetzt kann man dir hierhin zahlen:
    { $way } <code>{ $label }</code>
payout-replaced =
    ✅ <b>Geändert.</b> Ab jetzt geht dein Geld hierhin:
    { $way } <code>{ $label }</code>
    Bisher ging es an <code>{ $before }</code>. Zahlungen, die schon unterwegs sind, kommen noch dort an.
payout-not-you = <i>Das warst nicht du? Mach es sofort rückgängig. Öffne dann in Telegram die Einstellungen, tippe auf „Geräte“ und beende alle anderen Sitzungen.</i>
payout-remove =
    <b>Dieses Konto entfernen?</b>
    { $way } <code>{ $label }</code>
payout-remove-links =
    { $count ->
        [0] Deine anderen Konten passen zu allen aktiven Zahlungslinks.
        [one] { $count } Zahlungslink lässt sich dann nicht bezahlen, bis du ein anderes Konto verbindest.
       *[other] { $count } Zahlungslinks lassen sich dann nicht bezahlen, bis du ein anderes Konto verbindest.
    }
payout-remove-kept = Zahlungen, die schon unterwegs sind, kommen noch dort an.
payout-removing = ⏳ Ich entferne es …
payout-removed =
    ✅ <b>Entfernt.</b> Hierhin kann man dir nicht mehr zahlen:
    { $way } <code>{ $label }</code>
payout-removed-links =
    { $count ->
        [0] Alle deine aktiven Zahlungslinks lassen sich weiter bezahlen.
        [one] { $count } Zahlungslink lässt sich nicht bezahlen, bis du ein anderes Konto verbindest.
       *[other] { $count } Zahlungslinks lassen sich nicht bezahlen, bis du ein anderes Konto verbindest.
    }
toast-payout-gone = Das hast du schon entfernt.

## Zahlungslinks, die darauf warten

payout-review = Dein Geld geht an: { $accounts }
payout-review-none = ⚠ Niemand kann das bezahlen, bis du ein Konto verbindest: /getpaid
payout-no-way = ⚠ Dein Konto nimmt nur { $taken } an, deshalb kann niemand einen Preis in { $currency } bezahlen. Verbinde mit /getpaid eine Lightning-Adresse, die auch { $currency } annimmt, oder nimm einen Preis in { $taken }.
payout-no-way-bank = ⚠ Dein Konto nimmt nur { $taken } an, deshalb kann niemand einen Preis in { $currency } bezahlen. Nimm einen Preis in { $taken }, oder verbinde mit /getpaid ein anderes Konto.
status-noPayoutAccount = 💶 <b>Noch nicht bezahlbar</b>: Verbinde ein Konto, das zu diesem Preis passt.
mark-noPayoutAccount = 💶
status-outdated = 🧪 <b>Nicht bezahlbar</b>: für Testgeld erstellt. Dupliziere den Link, um echtes Geld zu bekommen.
mark-outdated = 🧪
