# Wohin das Geld geht: Empfangskonten, bei echtem Geld. HTML und Werte wie in chat.ftl.

command-getpaid = Wohin dein Geld geht
button-payout = 💶 Wohin dein Geld geht
button-payout-connect = 💶 Empfang einrichten
button-payout-settings = ⚙ Einstellungen
button-payout-later = Später
button-payout-bank = 🏦 Überweisung
button-payout-lightning = ⚡ Lightning-Adresse
button-payout-lnbits = 🧩 Mein LNbits
button-payout-nwc = 🔗 Wallet-Verbindung
button-payout-alby = 🐝 In Alby Hub anlegen
button-payout-account = { $way }: { $label }
button-payout-replace = ✏ Ersetzen
button-payout-remove = 🗑 Entfernen
button-payout-remove-yes = Ja, entfernen
button-payout-remove-no = Nein, behalten
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
    Man zahlt direkt an dich. Ich habe dein Geld nie in der Hand.
payout-page =
    <b>Hierhin geht dein Geld</b>
    Man zahlt direkt an dich. Ich habe dein Geld nie in der Hand. Passen mehrere Wege zu einem Preis, kann man wählen; der erste ist vorausgewählt.
payout-connect = <b>Das kannst du verbinden</b>
payout-first =
    <b>Wohin soll das Geld gehen?</b>
    Man zahlt direkt an dich. Verbinde einmal, wohin dein Geld geht, dann gilt das für alle deine Zahlungslinks.
payout-about-bank = 🏦 <b>Überweisung</b>: braucht deine IBAN, deinen PIX-Schlüssel oder deine UPI-ID. Kostet, was deine Bank verlangt, meist nichts. Du siehst in dein Konto und bestätigst jede Zahlung mit einem Tipp.
payout-about-lightning = ⚡ <b>Lightning-Adresse</b>: braucht eine Adresse wie <code>anna@example.org</code> aus deiner Bitcoin-Wallet. Ich verlange nichts, deine Wallet vielleicht. Die meisten Wallets melden Zahlungen von selbst.
payout-about-lnbits = 🧩 <b>Mein LNbits</b>: braucht deinen LNbits-Server und den Rechnungsschlüssel, der nichts ausgeben kann. Kostet, was dein Server verlangt. Zahlungen werden von selbst gemeldet.
payout-about-nwc = 🔗 <b>Wallet-Verbindung</b>: braucht eine Verbindung, die nur empfangen kann, etwa aus Alby Hub. Kostet, was deine Wallet verlangt. Zahlungen werden von selbst gemeldet.
payout-schemes =
    <b>Was für ein Konto ist es?</b>
    • <b>SEPA</b>: Preise in Euro. Braucht eine IBAN.
    • <b>PIX</b>: Preise in brasilianischen Real. Braucht einen PIX-Schlüssel.
    • <b>UPI</b>: Preise in indischen Rupien. Braucht eine UPI-ID.
    • <b>Schweizer QR-Rechnung</b>: Preise in Franken oder Euro. Braucht eine Schweizer IBAN und deine Anschrift.
payout-way-bank-sepa = 🏦 SEPA-Konto
payout-way-bank-pix = 🏦 PIX
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
payout-automatic = ✅ Zahlungen werden von selbst gemeldet.
payout-by-hand = 👆 Du siehst in dein Konto und bestätigst jede Zahlung mit einem Tipp.
payout-by-hand-wallet = 👆 Diese Wallet meldet keine Zahlungen. Du siehst dort nach und bestätigst jede mit einem Tipp.
payout-settings =
    <b>Einstellungen</b>
    Hierhin geht dein Geld:
payout-settings-none =
    <b>Einstellungen</b>
    Noch kann dir niemand etwas zahlen: Du hast nicht festgelegt, wohin dein Geld geht.

## Das Formular

payout-ask-bank-sepa-iban =
    <b>Wie lautet deine IBAN?</b>
    Sie steht in deiner Banking-App. Zum Beispiel: <code>DE89 3704 0044 0532 0130 00</code>
payout-ask-bank-sepa-name =
    <b>Wem gehört das Konto?</b>
    Schreib den Namen genau so, wie ihn deine Bank schreibt. Die Bank, von der gezahlt wird, vergleicht ihn mit der IBAN und warnt, wenn er abweicht.
payout-ask-bank-pix-key =
    <b>Wie lautet dein PIX-Schlüssel?</b>
    CPF, CNPJ, Telefonnummer, E-Mail-Adresse oder Zufallsschlüssel.
payout-ask-bank-pix-name =
    <b>Wem gehört das Konto?</b>
    Schreib den Namen so, wie ihn deine Bank schreibt. Man sieht ihn vor dem Zahlen.
payout-ask-bank-pix-city =
    <b>In welcher Stadt bist du?</b>
    Sie steht im PIX-Code. Zum Beispiel: <code>São Paulo</code>
payout-ask-bank-upi-id =
    <b>Wie lautet deine UPI-ID?</b>
    Zum Beispiel: <code>anna@okbank</code>
payout-ask-bank-upi-name =
    <b>Wem gehört das Konto?</b>
    Schreib den Namen so, wie ihn deine Bank schreibt. Man sieht ihn vor dem Zahlen.
payout-ask-bank-swiss-iban =
    <b>Wie lautet deine IBAN aus der Schweiz oder Liechtenstein?</b>
    Zum Beispiel: <code>CH93 0076 2011 6238 5295 7</code>
payout-ask-bank-swiss-name =
    <b>Wem gehört das Konto?</b>
    Schreib den Namen genau so, wie ihn deine Bank schreibt.
payout-ask-bank-swiss-street =
    <b>In welcher Straße wohnt, wem das Konto gehört?</b>
    Eine QR-Rechnung braucht die Anschrift. Wer zahlt, sieht sie. Die Hausnummer kommt danach.
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
    Öffne die Wallet in LNbits. Unter „API docs“ steht der <b>Invoice/read key</b>. Gib den Admin-Schlüssel niemandem: Mit ihm lässt sich Geld ausgeben.
    Ich lösche deine Nachricht, sobald ich sie gelesen habe.
payout-ask-nwc-connection =
    <b>Wie lautet der Verbindungstext?</b>
    Füge in deiner Wallet eine Verbindung hinzu, die nur empfangen kann, und schick mir den Text, der mit <code>nostr+walletconnect://</code> beginnt.
    Wenn du Alby Hub nutzt, füllt der Knopf unten das Formular schon aus: Bestätige es und kopiere den Text, den du danach siehst.
    Ich lösche deine Nachricht, sobald ich sie gelesen habe.
payout-checking = ⏳ Ich prüfe, ob dort Geld ankommen kann. Das dauert bis zu einer halben Minute.
payout-saving = ⏳ Ich speichere …
payout-found = <b>Das klappt. Soll ich es speichern?</b>
payout-found-replaces = Es ersetzt <code>{ $label }</code>.

## Was an einer Antwort oder am Dienst nicht stimmte

problem-payout-empty = ⚠ Darin finde ich keinen Text. Bitte schreib es noch einmal.
problem-payout-long = ⚠ Das sind { $length } Zeichen, möglich sind { $most }. Bitte kürze es.
payout-wrong-iban = ⚠ Das ist keine IBAN. Sie beginnt mit zwei Buchstaben und zwei Ziffern, zum Beispiel <code>DE89 3704 0044 0532 0130 00</code>.
payout-wrong-iban-digits = ⚠ In dieser IBAN ist ein Tippfehler: Ihre Prüfziffern passen nicht. Bitte vergleiche sie mit deiner Banking-App.
payout-wrong-swiss = ⚠ Diese IBAN ist nicht aus der Schweiz oder Liechtenstein. Sie muss mit CH oder LI beginnen. Für andere IBANs geh zurück und wähle SEPA.
payout-wrong-pix = ⚠ Das ist kein PIX-Schlüssel. Schreib deine CPF, CNPJ, Telefonnummer mit +55, E-Mail-Adresse oder einen zufälligen Schlüssel.
payout-wrong-name = ⚠ Das ist eine IBAN. Bitte schreib den Namen der Person, der das Konto gehört.
payout-wrong-upi = ⚠ Das ist keine UPI-ID. Schreib eine wie <code>anna@okbank</code>.
payout-wrong-address = ⚠ Das ist keine Lightning-Adresse. Schreib eine wie <code>anna@example.org</code>.
payout-wrong-url = ⚠ Mit dieser Webadresse kann ich nichts anfangen. Schreib eine wie <code>https://lnbits.example.org</code>.
payout-wrong-key = ⚠ Das ist kein Schlüssel. Kopiere den ganzen Rechnungsschlüssel aus LNbits; er hat keine Leerzeichen.
payout-wrong-connection = ⚠ Das ist kein vollständiger Verbindungstext. Kopiere ihn ganz aus deiner Wallet; er beginnt mit <code>nostr+walletconnect://</code>.
payout-connection-elsewhere = ⚠ Das ist der Schlüssel zu einer Wallet, deshalb verwende ich ihn hier nicht. Damit dein Geld in dieser Wallet ankommt, öffne /getpaid und drück auf <b>Wallet-Verbindung</b>.
payout-wrong-country = ⚠ Bitte schreib das Kürzel des Landes aus zwei Buchstaben, zum Beispiel <code>CH</code>.
payout-refused = ⚠ Das hat nicht geklappt. Der Zahlungsdienst sagt auf Englisch: { $message }
payout-waiting = Der Zahlungsdienst antwortet nicht. Ich versuche es eine Stunde lang weiter und sage dir Bescheid. Du musst nichts tun.
payout-given-up = ⚠ Der Zahlungsdienst hat nicht geantwortet, deshalb wurde nichts geändert. Bitte versuch es später noch einmal.
payout-closed = ⚠ Der Zahlungsdienst lässt diesen Bot nicht hinein, und nur der Betreiber dieses Bots kann das beheben. Nichts wurde geändert.

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
    <b>Soll dein Geld nicht mehr hierhin gehen?</b>
    { $way } <code>{ $label }</code>
payout-remove-links =
    { $count ->
        [0] Alle deine aktiven Zahlungslinks lassen sich weiter auf einem anderen Weg bezahlen.
        [one] { $count } Zahlungslink lässt sich dann nicht bezahlen, bis du etwas anderes verbindest.
       *[other] { $count } Zahlungslinks lassen sich dann nicht bezahlen, bis du etwas anderes verbindest.
    }
payout-remove-kept = Zahlungen, die schon unterwegs sind, kommen noch dort an.
payout-removing = ⏳ Ich entferne es …
payout-removed =
    ✅ <b>Entfernt.</b> Hierhin kann man dir nicht mehr zahlen:
    { $way } <code>{ $label }</code>
payout-removed-links =
    { $count ->
        [0] Alle deine aktiven Zahlungslinks lassen sich weiter bezahlen.
        [one] { $count } Zahlungslink lässt sich nicht bezahlen, bis du etwas anderes verbindest.
       *[other] { $count } Zahlungslinks lassen sich nicht bezahlen, bis du etwas anderes verbindest.
    }
toast-payout-gone = Das hast du schon entfernt.

## Zahlungslinks, die darauf warten

payout-review = Dein Geld geht an: { $accounts }
payout-review-none = ⚠ Niemand kann das bezahlen, bis du festlegst, wohin dein Geld geht: /getpaid
payout-no-way = ⚠ Was du verbunden hast, nimmt nur { $taken } an, also kann niemand einen Preis in { $currency } bezahlen. Verbinde mit /getpaid eine Lightning-Adresse, damit man dir Preise in { $currency } zahlen kann, oder nimm einen Preis in { $taken }.
payout-no-way-bank = ⚠ Was du verbunden hast, nimmt nur { $taken } an, also kann niemand einen Preis in { $currency } bezahlen. Nimm einen Preis in { $taken }, oder verbinde mit /getpaid ein anderes Konto.
status-noPayoutAccount = 💶 <b>Noch nicht bezahlbar</b>: Verbinde etwas, wohin das Geld für diesen Preis gehen kann.
mark-noPayoutAccount = 💶
status-outdated = 🧪 <b>Nicht bezahlbar</b>: für Testgeld erstellt. Dupliziere den Link, um echtes Geld zu bekommen.
mark-outdated = 🧪
